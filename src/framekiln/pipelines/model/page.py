"""A page of a list."""

from dataclasses import dataclass


@dataclass(frozen=True)
class PageRequest:
    """At most `limit` items, older than the one at position `before`."""

    limit: int
    before: int | None = None
