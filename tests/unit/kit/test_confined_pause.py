"""A PauseSwitch stops a child and its clock."""

import asyncio
import signal

import pytest

from framekiln.kit.confined.pause import PauseSwitch


async def test_the_timeout_stops_while_the_child_is_paused() -> None:
    pause_switch = PauseSwitch()
    sent: list[signal.Signals] = []

    async def run_paused() -> None:
        async with asyncio.timeout(0.05) as clock:
            with pause_switch.control(sent.append, clock):
                pause_switch.pause()
                assert clock.when() is None
                # Longer than there was time: nothing ends.
                await asyncio.sleep(0.1)
                pause_switch.resume()
                assert clock.when() is not None
                # What was left is left.
                await asyncio.sleep(60)

    with pytest.raises(TimeoutError):
        await run_paused()
    assert sent == [signal.SIGSTOP, signal.SIGCONT]


async def test_pausing_twice_is_idempotent() -> None:
    pause_switch = PauseSwitch()
    sent: list[signal.Signals] = []
    async with asyncio.timeout(60) as clock:
        pause_switch.resume()
        pause_switch.pause()
        pause_switch.pause()
        with pause_switch.control(sent.append, clock):
            assert sent == [signal.SIGSTOP]
            pause_switch.resume()
            pause_switch.resume()
            await asyncio.sleep(0)
        pause_switch.pause()
    assert sent == [signal.SIGSTOP, signal.SIGCONT]
