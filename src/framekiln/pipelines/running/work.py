"""What workers do with units: take one, say how it went, look for what is due.

Each is one transaction with everything that follows from it. Endpoints have no worker here; what
sends to them uses `Advance.hold` and `units` itself.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Final

from framekiln.db.pool import Database
from framekiln.files.model import File
from framekiln.jobs.ending import Failure
from framekiln.jobs.queue import JobQueue
from framekiln.kit.clock import Clock
from framekiln.pipelines.definitions.definition import Definition
from framekiln.pipelines.errors import UnitLost
from framekiln.pipelines.model.run import Run, TakenUnit, UnitName
from framekiln.pipelines.outputs.output import Output
from framekiln.pipelines.running import units
from framekiln.pipelines.running.advance import Advance
from framekiln.pipelines.running.held import HeldRun
from framekiln.pipelines.running.jobs import queue_of, step_job
from framekiln.pipelines.running.reading import read_inputs
from framekiln.pipelines.tables.unit import store as unit_store

WITHIN: Final = timedelta(hours=12)
"""No attempt takes longer: hours of speech on a small machine fit in."""
_DUE_AT_A_TIME: Final = 500


@dataclass(frozen=True)
class BegunUnit:
    """A unit that was taken, with all that is needed to do it."""

    taken: TakenUnit
    run: Run
    file: File
    definition: Definition
    inputs: Mapping[str, Output]


class RunWork:
    """The runs of all organizations, as their workers see them."""

    def __init__(
        self, database: Database, *, advance: Advance, jobs: JobQueue, clock: Clock
    ) -> None:
        self._database = database
        self._advance = advance
        self._jobs = jobs
        self._clock = clock

    async def take(self, name: UnitName, *, job_id: int) -> BegunUnit | None:
        """Become the one worker of a unit; None when there is nothing to do for this one."""
        async with self._advance.hold(name.run_id) as held:
            if held is None or held.frame.file is None:
                return None
            deadline_at = held.frame.now + WITHIN
            taken = units.take(held, name, job_id=job_id, deadline_at=deadline_at)
            run, file, definition = held.run, held.frame.file, held.frame.definition
        if taken is None:
            return None
        async with self._database.connection() as connection:
            inputs = await read_inputs(
                connection, run.id, definition, key=name.step_key, window=taken.window
            )
        return BegunUnit(taken, run, file, definition, inputs)

    async def succeed(self, taken: TakenUnit, output: Output) -> bool:
        """Record what came of a unit; False when it was lost."""
        async with self._advance.hold(taken.name.run_id) as held:
            return held is not None and await units.succeed(held, taken, output)

    async def fail(self, taken: TakenUnit, failure: Failure, *, is_retryable: bool) -> bool:
        """Record why an attempt failed; False when the unit was lost."""
        async with self._advance.hold(taken.name.run_id) as held:
            if held is None:
                return False
            return units.fail(held, taken, failure, is_retryable=is_retryable)

    async def wait(self, taken: TakenUnit, *, after_s: float, done_ms: int | None = None) -> bool:
        """Have a unit queued again later, and note how far it is; False when it was lost."""
        async with self._advance.hold(taken.name.run_id) as held:
            if held is None or not units.wait(held, taken, after_s=after_s):
                return False
            if done_ms is not None and taken.window is None:
                _note_done(held, taken, done_ms)
            return True

    async def remember(self, taken: TakenUnit, note: Mapping[str, Any]) -> None:
        """Keep a note with a unit, or raise `UnitLost`."""
        async with self._advance.hold(taken.name.run_id) as held:
            if held is None or not units.remember(held, taken, note):
                raise UnitLost(f"step {taken.name.step_key} is not ours any more")

    async def report(self, taken: TakenUnit, *, done_ms: int) -> None:
        """Note how far a whole-file step is; windows say it by themselves."""
        async with self._advance.hold(taken.name.run_id) as held:
            if held is None or taken.window is not None or not units.has(held, taken):
                return
            _note_done(held, taken, done_ms)

    async def queue_due(self) -> int:
        """Queue the units whose time has come; return how many."""
        async with self._database.connection() as connection:
            due = await unit_store.list_due(connection, now=self._clock.now(), limit=_DUE_AT_A_TIME)
        queued = 0
        for name in due:
            async with self._advance.hold(name.run_id) as held:
                # Somebody else may have been quicker.
                if held is not None and units.note_queued(held, name):
                    kind = held.frame.definition.steps[name.step_key].type
                    queue = queue_of(kind, held.frame.media)
                    job = step_job(name, held.run.organization_id, queue)
                    await self._jobs.defer(held.connection, job)
                    queued += 1
        return queued


def _note_done(held: HeldRun, taken: TakenUnit, done_ms: int) -> None:
    step = held.steps[taken.name.step_key]
    held.steps[step.key] = replace(step, watermark_ms=done_ms)
