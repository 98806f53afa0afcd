"""A page of a list."""

from dataclasses import dataclass


@dataclass(frozen=True)
class PageRequest:
    """At most `limit` items, of those that are older than the one at `before`."""

    limit: int
    before: int | None = None
