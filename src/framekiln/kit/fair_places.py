"""A few places for work, in which owners take turns, so that one cannot keep all of them."""

import asyncio
import sys
from collections import Counter, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class FairPlaces:
    """Places of one event loop; an owner has at most `most_of_owner` of them at a time."""

    def __init__(self, places: int = sys.maxsize, *, most_of_owner: int | None = None) -> None:
        self._free = places
        self._most = most_of_owner or places
        self._held: Counter[object] = Counter()
        self._queues: dict[object, deque[asyncio.Future[None]]] = {}

    @asynccontextmanager
    async def place(self, owner: object) -> AsyncIterator[None]:
        """Wait for a place, and give it back after the block."""
        await self.take(owner)
        try:
            yield
        finally:
            self.give_back(owner)

    async def take(self, owner: object) -> None:
        """Wait for a place, which is to be given back."""
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queues.setdefault(owner, deque()).append(turn)
        self._give_out()
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():
                # The turn came together with the cancellation.
                self.give_back(owner)
            raise

    def take_now(self, owner: object) -> None:
        """Take a place even if there is none."""
        self._free -= 1
        self._held[owner] += 1

    def give_back(self, owner: object) -> None:
        """Give a place of the owner to the next in turn."""
        self._free += 1
        self._held[owner] -= 1
        if not self._held[owner]:
            del self._held[owner]
        self._give_out()

    def _give_out(self) -> None:
        """Give each free place to the next in turn."""
        while self._free > 0 and (owner := self._next_owner()) is not None:
            queue = self._queues.pop(owner)
            turn = queue.popleft()
            # The owner's next turn comes after one of everybody else.
            if queue:
                self._queues[owner] = queue
            if not turn.cancelled():
                self.take_now(owner)
                turn.set_result(None)

    def _next_owner(self) -> object:
        return next((each for each in self._queues if self._held[each] < self._most), None)
