"""A brake holds a child and its clock."""

import asyncio
import signal

import pytest

from framekiln.kit.confined.brake import Brake


async def test_the_clock_stands_still_with_the_child() -> None:
    brake = Brake()
    sent: list[signal.Signals] = []

    async def be_held() -> None:
        async with asyncio.timeout(0.05) as clock:
            with brake.on(sent.append, clock):
                brake.pull()
                assert clock.when() is None
                # Longer than there was time: nothing ends.
                await asyncio.sleep(0.1)
                brake.release()
                assert clock.when() is not None
                # What was left is left.
                await asyncio.sleep(60)

    with pytest.raises(TimeoutError):
        await be_held()
    assert sent == [signal.SIGSTOP, signal.SIGCONT]


async def test_pulling_twice_is_pulling_once() -> None:
    brake = Brake()
    sent: list[signal.Signals] = []
    async with asyncio.timeout(60) as clock:
        brake.release()
        brake.pull()
        brake.pull()
        with brake.on(sent.append, clock):
            assert sent == [signal.SIGSTOP]
            brake.release()
            brake.release()
            await asyncio.sleep(0)
        brake.pull()
    assert sent == [signal.SIGSTOP, signal.SIGCONT]
