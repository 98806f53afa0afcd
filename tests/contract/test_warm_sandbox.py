"""A warm sandbox: a new process for every order, and a spawned one where that is impossible.

What a child may and may not do is asked of both ways in `test_confined`.
"""

import asyncio
import os
import signal
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from framekiln.kit.confined.errors import ConfinedKilled
from framekiln.kit.confined.limits import ResourceLimits
from framekiln.kit.confined.order import ConfinedOrder
from framekiln.kit.confined.pause import PauseSwitch
from framekiln.kit.confined.run import run_in_sandbox, run_warm
from framekiln.kit.confined.sandbox import strongest_sandbox
from framekiln.kit.confined.warm_sandbox import SandboxFolders, WarmSandbox, open_sandbox_folders
from framekiln.kit.processes import foreign_children
from tests.support.jobs import wait_until
from tests.support.timeouts import TIMEOUT_S

TASKS = "tests.support.confined_tasks"
LIMITS = ResourceLimits(cpu_s=60, memory_bytes=256 << 20, file_bytes=4 << 20, wall_s=TIMEOUT_S)
Zygotes = Callable[[], set[int]]


@pytest.fixture
def folders() -> Iterator[SandboxFolders]:
    with open_sandbox_folders() as folders:
        yield folders


@pytest.fixture
async def warm(folders: SandboxFolders) -> AsyncIterator[WarmSandbox]:
    before = set(foreign_children())
    warm = WarmSandbox(strongest_sandbox(), folders, [TASKS])
    yield warm
    await warm.close()
    assert set(foreign_children()) <= before


async def run(warm: WarmSandbox, task: str, **args: Any) -> dict[str, Any]:
    folder = Path(tempfile.mkdtemp(dir=warm.folders.work))
    return await run_warm(warm, ConfinedOrder(f"{TASKS}:{task}", args, LIMITS, folder))


@pytest.fixture
def zygotes(warm: WarmSandbox) -> Zygotes:
    """Which zygotes there are now."""
    before = set(foreign_children())
    return lambda: set(foreign_children()) - before


async def test_a_task_leaves_no_files_for_the_next(warm: WarmSandbox, zygotes: Zygotes) -> None:
    assert await run(warm, "remember", value="secret") == {"before": None}
    first = zygotes()
    assert await run(warm, "remember", value="other") == {"before": None}
    assert zygotes() == first
    assert len(first) == 1


async def test_concurrent_tasks_do_not_disturb_each_other(warm: WarmSandbox) -> None:
    answers = await asyncio.gather(*(run(warm, "add", numbers=[n]) for n in range(8)))
    assert [answer["sum"] for answer in answers] == list(range(8))


async def test_a_crashed_zygote_is_replaced(warm: WarmSandbox, zygotes: Zygotes) -> None:
    await warm.warm_up()
    first = zygotes()
    with pytest.raises(ConfinedKilled, match="SIGSEGV"):
        await run(warm, "crash")
    assert await run(warm, "add", numbers=[1]) == {"sum": 1}
    assert len(zygotes()) == 1
    assert zygotes().isdisjoint(first)


async def test_a_crash_does_not_affect_concurrent_tasks(warm: WarmSandbox) -> None:
    folder = Path(tempfile.mkdtemp(dir=warm.folders.work))
    order = ConfinedOrder(f"{TASKS}:wait_for", {"name": "go"}, LIMITS, folder)
    beside = asyncio.create_task(run_warm(warm, order))
    with pytest.raises(ConfinedKilled):
        await run(warm, "crash")
    assert await run(warm, "add", numbers=[1]) == {"sum": 1}
    (folder / "go").touch()
    assert await beside == {"found": True}


async def test_a_zygote_that_was_killed_is_replaced(warm: WarmSandbox, zygotes: Zygotes) -> None:
    folder, started = Path(tempfile.mkdtemp(dir=warm.folders.work)), asyncio.Event()
    order = ConfinedOrder(f"{TASKS}:sleep", {}, LIMITS, folder)
    running = asyncio.create_task(run_warm(warm, order, lambda _: started.set()))
    await started.wait()
    for session in zygotes():
        os.killpg(session, signal.SIGKILL)
    with pytest.raises(ConfinedKilled, match="SIGKILL"):
        await running
    assert await run(warm, "add", numbers=[1]) == {"sum": 1}


async def test_a_task_outside_the_folders_runs_in_its_own_sandbox(
    warm: WarmSandbox, zygotes: Zygotes, tmp_path: Path
) -> None:
    folder, given = tmp_path / "work", tmp_path / "given"
    folder.mkdir()
    given.write_text("elsewhere")
    order = ConfinedOrder(f"{TASKS}:read", {"path": str(given)}, LIMITS, folder, (given,))
    assert await run_warm(warm, order) == {"text": "elsewhere"}
    assert zygotes() == set()


async def test_import_failure_falls_back_to_spawned_children(folders: SandboxFolders) -> None:
    warm = WarmSandbox(
        strongest_sandbox(), folders, ["tests.support.confined_tasks", "framekiln.nowhere"]
    )
    assert not await warm.warm_up()
    assert await run(warm, "add", numbers=[1]) == {"sum": 1}
    await warm.close()


@pytest.mark.parametrize("way", ["started", "forked"])
async def test_a_paused_child_makes_no_progress(
    warm: WarmSandbox, zygotes: Zygotes, way: str
) -> None:
    folder, started = Path(tempfile.mkdtemp(dir=warm.folders.work)), asyncio.Event()
    order = ConfinedOrder(f"{TASKS}:wait_for", {"name": "go"}, LIMITS, folder)
    pause_switch = PauseSwitch()
    carry_out = (
        partial(run_in_sandbox, warm.sandbox) if way == "started" else partial(run_warm, warm)
    )
    running = asyncio.create_task(
        carry_out(order, lambda _: started.set(), pause_switch=pause_switch)
    )
    await started.wait()
    pause_switch.pause()

    await wait_until_stopped(zygotes)
    (folder / "go").touch()
    assert states_of_leaves(zygotes()) == {"T"}
    assert not running.done()
    pause_switch.resume()
    assert await running == {"found": True}


async def wait_until_stopped(zygotes: Zygotes) -> None:
    async def is_stopped() -> bool:
        return states_of_leaves(zygotes()) == {"T"}

    await wait_until(is_stopped)


def states_of_leaves(roots: set[int]) -> set[str]:
    """Return the states of those processes below that have no children themselves."""
    parents, states = {}, {}
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            state, parent = (entry / "stat").read_text().rpartition(")")[2].split()[:2]
            parents[int(entry.name)], states[int(entry.name)] = int(parent), state
    below = set(roots)
    while more := {pid for pid, parent in parents.items() if parent in below} - below:
        below |= more
    return {states[pid] for pid in below - set(parents.values()) if pid in states}


async def test_a_child_started_while_paused_stays_paused(
    warm: WarmSandbox, zygotes: Zygotes
) -> None:
    folder = Path(tempfile.mkdtemp(dir=warm.folders.work))
    pause_switch = PauseSwitch()
    pause_switch.pause()
    # One that cannot end before it is stopped.
    order = ConfinedOrder(f"{TASKS}:wait_for", {"name": "go"}, LIMITS, folder)
    running = asyncio.create_task(run_warm(warm, order, pause_switch=pause_switch))
    await wait_until_stopped(zygotes)
    (folder / "go").touch()
    assert states_of_leaves(zygotes()) == {"T"}
    assert not running.done()
    pause_switch.resume()
    assert await running == {"found": True}
