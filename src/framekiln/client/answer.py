"""How answers of the service become values: each field is read from the member of its name."""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from typing import Any, Self


def told_as(
    name: str = "", *, read: Callable[[Any], Any] | None = None, default: Any = MISSING
) -> Any:
    """Return a field that the service calls differently, or that is made by `read`."""
    return field(default=default, metadata={"name": name, "read": read})


@dataclass(frozen=True, kw_only=True)
class Answer:
    """Part of an answer. A field with a default may be missing."""

    told: Mapping[str, Any] = field(repr=False, compare=False)
    """All of it."""

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> Self:
        """Read an answer."""
        own = (each for each in fields(cls) if each.name != "told")
        return cls(told=told, **{each.name: _value(each, told) for each in own})


def _value(own: "Field[Any]", told: Mapping[str, Any]) -> Any:
    name = own.metadata.get("name") or own.name
    if name not in told and own.default is not MISSING:
        return own.default
    read = own.metadata.get("read")
    return read(told[name]) if read else told[name]
