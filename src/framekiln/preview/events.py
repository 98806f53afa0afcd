"""Events for the pages that show a preview. Used in one event loop."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final

_MAX_WAITING: Final = 100
_ALIVE_EVERY_S: Final = 15


class EventFeed:
    """Sends each event to all who listen; one that does not read in time is disconnected."""

    def __init__(self) -> None:
        self._listeners: set[asyncio.Queue[bytes | None]] = set()

    def send(self, name: str, data: Mapping[str, Any]) -> None:
        """Send an event."""
        text = json.dumps(data, separators=(",", ":"))
        self._put(f"event: {name}\ndata: {text}\n\n".encode())

    def close(self) -> None:
        """End all streams."""
        self._put(None)

    async def listen(self) -> AsyncIterator[bytes]:
        """Yield encoded events until the feed is closed."""
        queue: asyncio.Queue[bytes | None] = asyncio.Queue(_MAX_WAITING)
        self._listeners.add(queue)
        try:
            yield b": connected\n\n"
            while True:
                try:
                    async with asyncio.timeout(_ALIVE_EVERY_S):
                        event = await queue.get()
                except TimeoutError:
                    event = b": alive\n\n"
                if event is None:
                    return
                yield event
        finally:
            self._listeners.discard(queue)

    def _put(self, event: bytes | None) -> None:
        for queue in list(self._listeners):
            if not queue.full():
                queue.put_nowait(event)
                continue
            # The page connects again, and then asks for the present state.
            while not queue.empty():
                queue.get_nowait()
            queue.put_nowait(None)
