"""JSON of the author that is kept unchanged: metadata, animations, templates."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from framekiln.composition.layers.limits import MAX_JSON_DEPTH


@dataclass(frozen=True)
class FrozenJson:
    """JSON of the author, stored as text: comparable and immutable."""

    text: str = "{}"

    @classmethod
    def of(cls, value: object) -> "FrozenJson":
        """Freeze a valid JSON value."""
        return cls(json.dumps(value, ensure_ascii=False, allow_nan=False))

    def thaw(self) -> Any:
        """Return it as Python values."""
        return json.loads(self.text)


def is_text(value: str) -> bool:
    """Whether it has only characters that can be stored and sent."""
    try:
        # Several times faster than a pattern, during which no other thread could run.
        value.encode()
    except UnicodeEncodeError:
        return False
    return "\x00" not in value


def json_problem(value: object) -> str | None:
    """Return why a value cannot be stored as JSON, or None."""
    waiting: list[tuple[object, int]] = [(value, 1)]
    while waiting:
        item, depth = waiting.pop()
        if depth > MAX_JSON_DEPTH:
            return f"is nested more than {MAX_JSON_DEPTH} deep"
        if isinstance(item, Mapping):
            waiting += [(key, depth + 1) for key in item]
            waiting += [(inner, depth + 1) for inner in item.values()]
        elif isinstance(item, list | tuple):
            waiting += [(inner, depth + 1) for inner in item]
        elif (problem := _leaf_problem(item)) is not None:
            return problem
    return None


def _leaf_problem(item: object) -> str | None:
    if isinstance(item, str):
        return None if is_text(item) else "contains characters that are not text"
    if isinstance(item, float):
        return None if math.isfinite(item) else "holds a number that is not finite"
    if isinstance(item, int):
        return None if abs(item) < 10**300 else "holds a number that is too large"
    return None if item is None else "contains a value that is not JSON"
