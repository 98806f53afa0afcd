"""Runs one function in a confined child process and returns its result.

This is the parent's side: it starts a child in a sandbox, or forks one in a warm sandbox, validates
its messages (`outcome`), and checks the files in the folder before they are used. After a run, in
any case, none of its processes is left.
"""

import asyncio
import os
import shutil
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from framekiln.kit.confined.budget import child_budget
from framekiln.kit.confined.errors import ConfinedFailed, ConfinedKilled
from framekiln.kit.confined.folders import check_own, give_to_child, reclaim, unshare
from framekiln.kit.confined.limits import ResourceLimits
from framekiln.kit.confined.order import ConfinedOrder, OnReport
from framekiln.kit.confined.outcome import ConfinedChild, outcome
from framekiln.kit.confined.pause import PauseSwitch
from framekiln.kit.confined.sandbox import Isolation, Sandbox, runs_unprivileged, strongest_sandbox
from framekiln.kit.confined.spawned_child import spawned_child
from framekiln.kit.confined.warm_sandbox import WarmSandbox
from framekiln.kit.lazy_log import LazyLogger

log = LazyLogger(__name__)


async def run_confined(
    task: str,
    args: Mapping[str, Any],
    *,
    limits: ResourceLimits,
    folder: Path,
    readable: Sequence[Path] = (),
    on_report: OnReport | None = None,
) -> dict[str, Any]:
    """Call `function(args, report)` in a child and return its result; both are JSON.

    The child sees `folder`, which it may change, and `readable`; no other files of ours and no
    network, and it cannot start processes. A `FramekilnError` of the task is raised unchanged.
    It may have to wait for a place (`budget`).

    A child that was killed, but not for a limit, is run once more: its input may not be to blame.
    One that reports its progress is not: it belongs to a job, which is retried as a whole.
    """
    sandbox = await asyncio.to_thread(strongest_sandbox)
    order = ConfinedOrder(task, args, limits, folder, tuple(readable))
    inputs = frozenset(await asyncio.to_thread(os.listdir, folder))
    async with child_budget().place(limits.memory_bytes):
        try:
            return await run_in_sandbox(sandbox, order, on_report)
        except ConfinedKilled as error:
            if on_report is not None or "signal" not in error.details:
                raise
            log.warning("confined.child_repeated", task=task, reason=error.message)
        await asyncio.to_thread(_remove_outputs, folder, inputs)
        return await run_in_sandbox(sandbox, order, on_report)


def _remove_outputs(folder: Path, inputs: Collection[str]) -> None:
    for path in folder.iterdir():
        if path.name in inputs:
            continue
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


def describe_confinement() -> str:
    """Return a description of how children are confined on this machine, and why not better."""
    return strongest_sandbox().description


async def run_in_sandbox(
    sandbox: Sandbox,
    order: ConfinedOrder,
    on_report: OnReport | None = None,
    *,
    pause_switch: PauseSwitch | None = None,
) -> dict[str, Any]:
    """Run an order in a new sandbox."""
    running = _Running(order, on_report, pause_switch or PauseSwitch())
    return await running.run_child(sandbox, spawned_child(sandbox, order))


async def run_warm(
    warm: WarmSandbox,
    order: ConfinedOrder,
    on_report: OnReport | None = None,
    *,
    pause_switch: PauseSwitch | None = None,
) -> dict[str, Any]:
    """Run an order in an open warm sandbox; if that is not possible, in a new one."""
    running = _Running(order, on_report, pause_switch or PauseSwitch())
    return await running.run_child(warm.sandbox, warm.child(order))


@dataclass(frozen=True)
class _Running:
    """An order in progress."""

    order: ConfinedOrder
    on_report: OnReport | None
    pause_switch: PauseSwitch

    async def run_child(
        self, sandbox: Sandbox, child: AbstractAsyncContextManager[ConfinedChild]
    ) -> dict[str, Any]:
        """Hand the folder over, wait for the result, and take the folder back."""
        view = self.order.view()
        await asyncio.to_thread(check_own, view.folder)
        is_stranger = runs_unprivileged(sandbox.isolation, view)
        if sandbox.isolation is Isolation.NONE and not is_stranger:
            await asyncio.to_thread(unshare, view.readable)
        if is_stranger:
            await asyncio.to_thread(give_to_child, view)
        try:
            async with child as running:
                result = await outcome(
                    running, self.order, on_report=self.on_report, pause_switch=self.pause_switch
                )
        finally:
            strange = await asyncio.shield(
                asyncio.to_thread(reclaim, view.folder, has_owner=is_stranger)
            )
        if strange:
            names = ", ".join(strange[:5])
            raise ConfinedFailed(f"{self.order.task} left something that is not a file: {names}")
        return result
