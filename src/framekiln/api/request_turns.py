"""Organizations take turns at requests: one that sends hundreds at once delays itself.

All requests of a process share a thread. So each organization has a few places, and its other
requests wait. A request has its place from authentication until its response begins, but not while
it waits for its body, and not longer than a second: it may wait for something else.
"""

import asyncio
from typing import Final

from starlette.types import Message, Receive, Scope

from framekiln.kit.fair_places import FairPlaces

PLACES: Final = 8
"""Of each organization. With fewer, one alone would wait for the database without work."""
_HOLD_S: Final = 1.0
_STATE: Final = "request_turn"


class RequestTurns:
    """The places of all organizations, in one event loop."""

    def __init__(self, *, places: int = PLACES, hold_s: float = _HOLD_S) -> None:
        self.places = FairPlaces(most_of_owner=places)
        self.hold_s = hold_s

    def turn(self, scope: Scope) -> "RequestTurn":
        """Return the turn of a request, which has no place yet."""
        turn = RequestTurn(self)
        scope.setdefault("state", {})[_STATE] = turn
        return turn


class RequestTurn:
    """The place of one request."""

    def __init__(self, turns: RequestTurns) -> None:
        self._turns = turns
        self._owner: str | None = None
        self._timer: asyncio.TimerHandle | None = None
        """Ends the place; None without one."""

    async def take(self, owner: str) -> None:
        """Wait for a place."""
        if self._owner is None:
            self._owner = owner
            await self._enter(owner)

    def end(self) -> None:
        """Give the place back for good."""
        if self._owner is not None:
            self._leave(self._owner)
        self._owner = None

    async def receive(self, receive: Receive) -> Message:
        """Return the next message of the client; others have the place meanwhile."""
        owner = self._owner
        if owner is None:
            return await receive()
        self._leave(owner)
        try:
            message = await receive()
        except asyncio.CancelledError:
            # Somebody looked whether the client is still there, and goes on.
            self._turns.places.take_now(owner)
            self._hold(owner)
            raise
        if self._owner is not None:
            await self._enter(owner)
        return message

    async def _enter(self, owner: str) -> None:
        await self._turns.places.take(owner)
        self._hold(owner)

    def _hold(self, owner: str) -> None:
        """Keep a place that was taken, unless the response has begun or it has another."""
        if self._owner is None or self._timer is not None:
            self._turns.places.give_back(owner)
            return
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(self._turns.hold_s, self._leave, owner)

    def _leave(self, owner: str) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
            self._turns.places.give_back(owner)


async def take_turn(scope: Scope, owner: str) -> None:
    """Wait until it is the turn of the owner of a request."""
    turn: RequestTurn | None = scope.get("state", {}).get(_STATE)
    if turn is not None:
        await turn.take(owner)
