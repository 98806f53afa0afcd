"""Fields that a request has and nobody reads."""

from typing import Annotated, Any

from fastapi import Request
from pydantic import AliasChoices, BaseModel, Field

from framekiln.api.unknown_fields import (
    MAX_WARNINGS,
    RequestBody,
    note_unknown_fields,
    warnings_of,
)


class Part(BaseModel):
    """Something inside."""

    size: int = 0


class Body(RequestBody):
    """A request with everything that a field may be."""

    EXTRA_FIELDS = frozenset({"strategy"})

    part: Part | None = None
    parts: Annotated[list[Part], Field(max_length=3)] = Field(default_factory=list)
    named: dict[str, Part] = Field(default_factory=dict)
    free: dict[str, Any] = Field(default_factory=dict)
    track_id: int | None = Field(default=None, validation_alias=AliasChoices("trackId", "track_id"))


def unknown(body: Any) -> list[str]:
    """Return the paths that are warned of."""
    request = Request({"type": "http"})
    note_unknown_fields(request, body, Body)
    return [warning.partition(" is not")[0] for warning in warnings_of(request)]


def test_unknown_nested_fields_are_found() -> None:
    body = {
        "part": {"size": 1, "sise": 1},
        "parts": [{"size": 1}, {"a": 1}, 7],
        "named": {"x": {"b": 1}, "y": None},
        "free": {"anything": {"goes": 1}},
        "other": {},
    }
    assert unknown(body) == ["part.sise", "parts.1.a", "named.x.b", "other"]


def test_aliases_and_known_extra_fields_cause_no_warning() -> None:
    assert unknown({"trackId": 1, "track_id": 1, "strategy": "v1"}) == []


def test_values_that_are_not_objects_have_no_fields() -> None:
    bodies: list[Any] = [[], None, 7, "part", {"part": [], "parts": {}, "named": 7}]
    for body in bodies:
        assert unknown(body) == []


def test_the_number_of_warnings_is_limited() -> None:
    found = unknown({f"{n}" + "x" * 10_000: 0 for n in range(1000)})
    assert len(found) == MAX_WARNINGS + 1
    assert max(map(len, found)) < 100
    assert found[-1] == "there are more fields that have no effect"


def test_a_request_that_was_not_read_has_no_warnings() -> None:
    assert warnings_of(Request({"type": "http"})) == []
