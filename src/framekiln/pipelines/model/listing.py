"""Which part of a list is wanted: all lists of pipelines go from the newest to the oldest."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Stretch:
    """At most `limit` items, of those that are older than the one at `before`."""

    limit: int
    before: int | None = None
