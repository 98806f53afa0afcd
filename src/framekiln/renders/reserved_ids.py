"""Ids of renders that are created later: their folders are registered, a few at a time.

A composition is stored before its render is inserted, so its folder must be registered before that
(`NewBlobs`). A statement for each render would cost a tenth of the request. Unused folders are
empty; their registrations go with the others that nobody takes away.
"""

from collections import OrderedDict, deque
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from framekiln.kit.clock import Clock
from framekiln.kit.ids import OrganizationId, RenderId, new_uuid
from framekiln.renders.model import render_prefix
from framekiln.storage.new_blobs import NewBlobs

_FIRST_COUNT: Final = 2
_MAX_COUNT: Final = 64
_USED_WITHIN: Final = timedelta(hours=1)
"""Much less than `RECORDED_WITHIN`, which is left for storing the composition."""
_MAX_ORGANIZATIONS: Final = 1000


@dataclass
class _Reserved:
    ids: deque[RenderId] = field(default_factory=deque)
    count: int = _FIRST_COUNT
    """How many are reserved next: twice as many each time, for those who create many."""
    until: datetime | None = None


class ReservedRenderIds:
    """Reserved ids by organization, of one process."""

    def __init__(self, new_blobs: NewBlobs, clock: Clock) -> None:
        self._new_blobs = new_blobs
        self._clock = clock
        self._reserved: OrderedDict[OrganizationId, _Reserved] = OrderedDict()

    async def take(self, organization_id: OrganizationId) -> RenderId:
        """Return an id for a new render; nobody else gets the same."""
        now, reserved = self._clock.now(), self._reserved.pop(organization_id, None)
        if reserved is None or reserved.until is None or reserved.until <= now:
            reserved = _Reserved()
        self._reserved[organization_id] = reserved
        while len(self._reserved) > _MAX_ORGANIZATIONS:
            self._reserved.popitem(last=False)
        if not reserved.ids:
            ids = await self._reserve(organization_id, reserved)
            taken = ids.pop()
            reserved.ids.extend(ids)
            reserved.until = now + _USED_WITHIN
            return taken
        return reserved.ids.popleft()

    async def _reserve(
        self, organization_id: OrganizationId, reserved: _Reserved
    ) -> list[RenderId]:
        ids = [RenderId(new_uuid()) for _ in range(reserved.count)]
        reserved.count = min(2 * reserved.count, _MAX_COUNT)
        await self._new_blobs.register_folders(
            *(render_prefix(organization_id, each) for each in ids)
        )
        return ids
