"""Organizations take turns at requests: one that sends hundreds at once delays itself.

All requests of a process share a thread. So each organization has a few places, and its other
requests wait. A request has its place from authentication until its response begins, but not while
it waits for its body, and not longer than a second: it may wait for something else.
"""

import asyncio
from collections import deque
from dataclasses import dataclass, field
from typing import Final

from starlette.types import Message, Receive, Scope

PLACES: Final = 8
"""Of each organization. With fewer, one alone would wait for the database without work."""
_HOLD_S: Final = 1.0
_STATE: Final = "request_turn"


@dataclass
class _Owner:
    """The places of an organization, oldest first, and the requests that wait for one."""

    ends_s: "dict[RequestTurn, float]" = field(default_factory=dict)
    waiting: "deque[tuple[RequestTurn, asyncio.Future[None]]]" = field(default_factory=deque)
    timer: asyncio.TimerHandle | None = None


class RequestTurns:
    """The places of all organizations, in one event loop."""

    def __init__(self, *, places: int = PLACES, hold_s: float = _HOLD_S) -> None:
        self._places = places
        self._hold_s = hold_s
        self._owners: dict[str, _Owner] = {}

    def turn(self, scope: Scope) -> "RequestTurn":
        """Return the turn of a request, which has no place yet."""
        turn = RequestTurn(self)
        scope.setdefault("state", {})[_STATE] = turn
        return turn

    async def take(self, turn: "RequestTurn", owner: str) -> None:
        """Wait for a place of the owner."""
        places = self._owners.setdefault(owner, _Owner())
        if not places.waiting and self._has_free(places):
            self.take_now(turn, owner)
            return
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        places.waiting.append((turn, ready))
        self._give_out(owner)
        try:
            await ready
        except asyncio.CancelledError:
            # The place may have come together with the cancellation.
            self.give_back(turn, owner)
            raise

    def take_now(self, turn: "RequestTurn", owner: str) -> None:
        """Take a place, even if there is none."""
        places = self._owners.setdefault(owner, _Owner())
        places.ends_s[turn] = asyncio.get_running_loop().time() + self._hold_s

    def give_back(self, turn: "RequestTurn", owner: str) -> None:
        """Give a place back, unless it has ended."""
        places = self._owners.get(owner)
        if places is not None:
            places.ends_s.pop(turn, None)
            self._give_out(owner)

    def _has_free(self, places: _Owner) -> bool:
        now_s = asyncio.get_running_loop().time()
        while places.ends_s and next(iter(places.ends_s.values())) <= now_s:
            places.ends_s.pop(next(iter(places.ends_s)))
        return len(places.ends_s) < self._places

    def _give_out(self, owner: str) -> None:
        places = self._owners[owner]
        while places.waiting and self._has_free(places):
            turn, ready = places.waiting.popleft()
            if not ready.done():
                self.take_now(turn, owner)
                ready.set_result(None)
        if places.timer is not None:
            places.timer.cancel()
            places.timer = None
        if places.waiting:
            first_s = next(iter(places.ends_s.values()))
            loop = asyncio.get_running_loop()
            places.timer = loop.call_at(first_s, self._give_out, owner)
        elif not places.ends_s:
            del self._owners[owner]


class RequestTurn:
    """The place of one request."""

    def __init__(self, turns: RequestTurns) -> None:
        self._turns = turns
        self._owner: str | None = None

    async def take(self, owner: str) -> None:
        """Wait for a place."""
        if self._owner is None:
            await self._turns.take(self, owner)
            self._owner = owner

    def end(self) -> None:
        """Give the place back for good."""
        owner, self._owner = self._owner, None
        if owner is not None:
            self._turns.give_back(self, owner)

    async def receive(self, receive: Receive) -> Message:
        """Return the next message of the client; others have the place meanwhile."""
        owner = self._owner
        if owner is None:
            return await receive()
        self._turns.give_back(self, owner)
        try:
            message = await receive()
        except asyncio.CancelledError:
            # Somebody looked whether the client is still there, and goes on.
            if self._owner is not None:
                self._turns.take_now(self, owner)
            raise
        # The response may have begun meanwhile.
        if self._owner is not None:
            await self._turns.take(self, owner)
        return message


async def take_turn(scope: Scope, owner: str) -> None:
    """Wait until it is the turn of the owner of a request."""
    turn: RequestTurn | None = scope.get("state", {}).get(_STATE)
    if turn is not None:
        await turn.take(owner)
