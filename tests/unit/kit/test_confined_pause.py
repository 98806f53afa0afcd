"""A brake holds a child and its clock."""

import asyncio
import signal

import pytest

from framekiln.kit.confined.pause import PauseSwitch


async def test_the_timeout_stops_while_the_child_is_paused() -> None:
    brake = PauseSwitch()
    sent: list[signal.Signals] = []

    async def be_held() -> None:
        async with asyncio.timeout(0.05) as clock:
            with brake.control(sent.append, clock):
                brake.pause()
                assert clock.when() is None
                # Longer than there was time: nothing ends.
                await asyncio.sleep(0.1)
                brake.resume()
                assert clock.when() is not None
                # What was left is left.
                await asyncio.sleep(60)

    with pytest.raises(TimeoutError):
        await be_held()
    assert sent == [signal.SIGSTOP, signal.SIGCONT]


async def test_pausing_twice_is_idempotent() -> None:
    brake = PauseSwitch()
    sent: list[signal.Signals] = []
    async with asyncio.timeout(60) as clock:
        brake.resume()
        brake.pause()
        brake.pause()
        with brake.control(sent.append, clock):
            assert sent == [signal.SIGSTOP]
            brake.resume()
            brake.resume()
            await asyncio.sleep(0)
        brake.pause()
    assert sent == [signal.SIGSTOP, signal.SIGCONT]
