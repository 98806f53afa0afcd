"""The bytes of request bodies that are in memory at a time, in all and for each organization.

A body is in memory until its response is sent; of an upload, a few parts at a time. Small bodies
are not counted: the number of connections limits them.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import structlog
from starlette.types import Scope

from framekiln.kit.errors import RateLimited, Unavailable

UNCOUNTED_BYTES: Final = 1 << 20
MAX_BYTES: Final = 512 << 20
MAX_OWNER_BYTES: Final = 128 << 20
# Uploads last as long as clients like. 32 long ones of an organization at a time, or 64 chunks of
# the usual 8 MiB, are more than browsers and clients send.
MAX_UPLOAD_BYTES: Final = 2 << 30
MAX_OWNER_UPLOAD_BYTES: Final = 512 << 20
_STATE: Final = "body_share"


class BodyMemory:
    """Counts the large bodies of all requests of this process."""

    def __init__(
        self, *, max_bytes: int = MAX_BYTES, max_owner_bytes: int = MAX_OWNER_BYTES
    ) -> None:
        self._max_bytes = max_bytes
        self._max_owner_bytes = max_owner_bytes
        self._held_bytes: Counter[str] = Counter()

    def share(self, scope: Scope) -> "BodyShare":
        """Return the share of a request, which is given back when its response is sent."""
        share = BodyShare(self)
        scope.setdefault("state", {})[_STATE] = share
        return share

    @contextmanager
    def hold(self, owner: str, size_bytes: int) -> Iterator[None]:
        """Count bytes of an owner that are in memory meanwhile, or raise if there are too many."""
        counted_bytes = size_bytes if size_bytes > UNCOUNTED_BYTES else 0
        self.change(owner, counted_bytes)
        try:
            yield
        finally:
            self.change(owner, -counted_bytes)

    def change(self, owner: str, by_bytes: int) -> None:
        """Count bytes of an owner, or raise if there are too many."""
        held_bytes = self._held_bytes[owner] + by_bytes
        if by_bytes > 0 and held_bytes > self._max_owner_bytes:
            raise RateLimited(
                f"the requests of this organization bring more than {self._max_owner_bytes} bytes"
                " at a time: send fewer large bodies at once"
            )
        if by_bytes > 0 and self._held_bytes.total() + by_bytes > self._max_bytes:
            raise Unavailable(f"all requests bring more than {self._max_bytes} bytes at a time")
        self._held_bytes[owner] = held_bytes
        if not held_bytes:
            del self._held_bytes[owner]


def upload_memory() -> BodyMemory:
    """Return the memory of uploads: they take nothing from other bodies, nor these from them."""
    return BodyMemory(max_bytes=MAX_UPLOAD_BYTES, max_owner_bytes=MAX_OWNER_UPLOAD_BYTES)


class BodyShare:
    """The memory of one request's body."""

    def __init__(self, memory: BodyMemory) -> None:
        self._memory = memory
        self._owner = ""
        self._held_bytes = 0

    def grow_to(self, size_bytes: int) -> None:
        """Count a body that is being read."""
        if size_bytes <= max(UNCOUNTED_BYTES, self._held_bytes):
            return
        if not self._held_bytes:
            # Bound by authentication, which comes before the body is read.
            bound = structlog.contextvars.get_contextvars()
            self._owner = str(bound.get("organization_id", ""))
        self._memory.change(self._owner, size_bytes - self._held_bytes)
        self._held_bytes = size_bytes

    def release(self) -> None:
        """Stop counting the body."""
        if not self._held_bytes:
            return
        self._memory.change(self._owner, -self._held_bytes)
        self._held_bytes = 0


def count_body(scope: Scope, size_bytes: int) -> None:
    """Count the bytes that were read of a request's body so far."""
    share: BodyShare | None = scope.get("state", {}).get(_STATE)
    if share is not None:
        share.grow_to(size_bytes)
