"""Steps of real workers: independent ones side by side, light ones never behind heavy ones."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field

import pytest

from framekiln.pipelines.outputs.output import Output
from framekiln.pipelines.runners.step import Runners, StepWork
from framekiln.pipelines.running.jobs import RUN_STEP, queue_of
from framekiln.pipelines.running.step_job import RunStep
from framekiln.pipelines.states.run_state import Media
from framekiln.worker.crews import crews_of
from tests.support.jobs import eventually
from tests.support.pipelines import Line, Told, step

pytestmark = pytest.mark.spec("3.3")


@dataclass
class Endless:
    """A runner that works until the test is over."""

    works: list[StepWork] = field(default_factory=list)
    end: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self, work: StepWork) -> Output:
        self.works.append(work)
        await self.end.wait()
        return Output()


@asynccontextmanager
async def smallest_machine(line: Line, handler: RunStep) -> AsyncIterator[None]:
    """Let a worker do steps as it does on two cores, beside speech."""
    async with AsyncExitStack() as stack:
        for crew in crews_of(["speech", "steps"], concurrency=1, slots=1):
            task = asyncio.create_task(
                line.kiln.services.jobs.run_worker(
                    {RUN_STEP: handler},
                    queues=crew.queues,
                    concurrency=crew.concurrency,
                    name=crew.queues[0],
                )
            )
            stack.push_async_callback(_stop, task)
        yield


async def _stop(task: asyncio.Task[None]) -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def test_two_heavy_steps_run_at_once_and_light_ones_wait_for_neither(line: Line) -> None:
    heavy = Endless()
    runners: Runners = {
        "sample_frames": heavy,
        "detect_scenes": heavy,
        "probe": Told(),
        "publish": Told(),
    }
    steps = {f"heavy{number}": step("sample_frames") for number in range(3)}
    busy = await line.run(await line.pipeline({"steps": {**steps, "cuts": step("detect_scenes")}}))
    try:
        async with smallest_machine(line, RunStep(line.services.work, runners)):

            async def is_full() -> bool:
                return len(heavy.works) == 2

            await eventually(is_full)
            light = {"look": step("probe"), "out": step("publish", "look")}
            run = await line.run(await line.pipeline({"steps": light}))

            async def is_done() -> bool:
                return (await line.shown(run))["status"] == "succeeded"

            await eventually(is_done)
            statuses = list((await line.statuses(busy)).values())
            assert (statuses.count("ready"), len(heavy.works)) == (2, 2)
            heavy.end.set()
    finally:
        await line.made(f"pipeline-runs/{busy['id']}/cancel")


@pytest.mark.parametrize(
    ("kind", "media", "queue"),
    [
        ("probe", Media.WHOLE, "light_steps"),
        ("publish", Media.WHOLE, "light_steps"),
        # They wait for other jobs.
        ("redact_render", Media.WHOLE, "light_steps"),
        ("transcribe", Media.WHOLE, "light_steps"),
        ("transcribe", Media.ARRIVING, "steps"),
        ("sample_frames", Media.WHOLE, "steps"),
        ("detect_scenes", Media.ARRIVING, "steps"),
    ],
)
def test_what_decodes_or_listens_is_heavy(kind: str, media: Media, queue: str) -> None:
    assert queue_of(kind, media) == queue
