"""The memory that request bodies take together."""

import asyncio
from typing import Any

import pytest
import structlog
from fastapi import Request

from framekiln.api.bodies import read_bytes
from framekiln.api.body_memory import UNCOUNTED_BYTES, BodyMemory
from framekiln.kit.errors import RateLimited, Unavailable

LARGE = 2 * UNCOUNTED_BYTES


class Sender:
    """Sends bodies; each is kept until it may be answered."""

    def __init__(self) -> None:
        self.may_answer = asyncio.Event()
        self._memory = BodyMemory(max_bytes=3 * LARGE, max_owner_bytes=2 * LARGE)
        self._tasks: list[asyncio.Task[None]] = []

    async def send(self, owner: str, size_bytes: int) -> None:
        """Send a body; return when it is read, or raise why not."""
        is_read = asyncio.Event()

        async def run() -> None:
            structlog.contextvars.bind_contextvars(organization_id=owner)
            scope = {"type": "http", "headers": [], "is_read": is_read}
            messages = [{"type": "http.request", "body": bytes(size_bytes), "more_body": False}]
            share = self._memory.share(scope)
            try:
                await self._keep(scope, self._receiver(messages))
            finally:
                share.release()

        task = asyncio.create_task(run())
        waiting = asyncio.create_task(is_read.wait())
        await asyncio.wait([task, waiting], return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        if not is_read.is_set():
            await task
        self._tasks.append(task)

    async def finish(self) -> None:
        """Let all requests end."""
        self.may_answer.set()
        await asyncio.gather(*self._tasks)
        self.may_answer.clear()
        self._tasks.clear()

    async def _keep(self, scope: Any, receive: Any) -> None:
        await read_bytes(Request(scope, receive), max_bytes=1 << 30)
        scope["is_read"].set()
        await self.may_answer.wait()

    def _receiver(self, messages: list[dict[str, Any]]) -> Any:
        async def receive() -> dict[str, Any]:
            return messages.pop(0)

        return receive


async def test_large_bodies_of_an_organization_are_limited() -> None:
    sender = Sender()
    await sender.send("a", LARGE)
    await sender.send("a", LARGE)
    with pytest.raises(RateLimited, match="send fewer large bodies at once"):
        await sender.send("a", LARGE)
    await sender.send("a", UNCOUNTED_BYTES)
    await sender.send("b", LARGE)
    with pytest.raises(Unavailable):
        await sender.send("b", LARGE)
    await sender.finish()
    await sender.send("a", LARGE)
    await sender.send("a", LARGE)
    await sender.finish()
