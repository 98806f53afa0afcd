"""Names are resolved apart from all other work."""

import asyncio
import socket
import threading

import pytest

from framekiln.kit.guarded_transport import resolve_by_system
from tests.support.timeouts import TIMEOUT_S


async def test_slow_names_leave_the_threads_of_all_requests_free(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Anybody may have a slow DNS server; eight of its names stopped all file access of the api."""
    answered = threading.Event()

    def answer_slowly(*_: object, **__: object) -> list[object]:
        assert answered.wait(TIMEOUT_S)
        return []

    monkeypatch.setattr(socket, "getaddrinfo", answer_slowly)
    # More than there are default threads on any machine.
    waiting = [asyncio.create_task(resolve_by_system(f"{n}.test", 443)) for n in range(64)]
    await asyncio.sleep(0)
    try:
        async with asyncio.timeout(TIMEOUT_S / 10):
            assert await asyncio.to_thread(lambda: 7) == 7
    finally:
        answered.set()
        assert await asyncio.gather(*waiting) == [()] * 64
