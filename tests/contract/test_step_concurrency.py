"""Steps of real workers: independent ones side by side, light ones never behind heavy ones."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

import pytest

from framekiln.pipelines.execution.handlers import RunStep
from framekiln.pipelines.execution.step_type import Runners, StepWork
from framekiln.pipelines.jobs import RUN_STEP
from framekiln.pipelines.outputs.model import StepOutput
from framekiln.pipelines.scheduling.run_state import MediaState
from framekiln.pipelines.steps import STEP_TYPES
from framekiln.worker.pools import worker_pools
from tests.support.jobs import wait_until
from tests.support.pipelines import PipelineHarness, ScriptedRunner, step

pytestmark = pytest.mark.spec("3.3")


@dataclass
class BlockingRunner:
    """A runner that works until the test is over."""

    works: list[StepWork] = field(default_factory=list)
    end: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self, work: StepWork) -> StepOutput:
        self.works.append(work)
        await self.end.wait()
        return StepOutput()


@asynccontextmanager
async def two_core_worker(pipelines: PipelineHarness, handler: RunStep) -> AsyncIterator[None]:
    """Let a worker do steps as it does on two cores, beside speech."""
    pools = worker_pools(["speech", "steps"], concurrency=1, slots=1)
    jobs = pipelines.app.services.jobs
    task = asyncio.create_task(jobs.run_worker({RUN_STEP: handler}, *pools, name="test"))
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def test_two_heavy_steps_run_at_once_beside_light_ones(
    pipelines: PipelineHarness,
) -> None:
    heavy = BlockingRunner()
    runners: Runners = {
        "sample_frames": heavy,
        "detect_scenes": heavy,
        "probe": ScriptedRunner(),
        "publish": ScriptedRunner(),
    }
    steps = {f"heavy{number}": step("sample_frames") for number in range(3)}
    busy = await pipelines.start_run(
        await pipelines.create_pipeline({"steps": {**steps, "cuts": step("detect_scenes")}})
    )
    try:
        async with two_core_worker(pipelines, RunStep(pipelines.services.worker, runners)):

            async def is_full() -> bool:
                return len(heavy.works) == 2

            await wait_until(is_full)
            light = {"look": step("probe"), "out": step("publish", "look")}
            run = await pipelines.start_run(await pipelines.create_pipeline({"steps": light}))

            async def is_done() -> bool:
                return (await pipelines.get_run(run))["status"] == "succeeded"

            await wait_until(is_done)
            statuses = list((await pipelines.statuses(busy)).values())
            assert (statuses.count("ready"), len(heavy.works)) == (2, 2)
            heavy.end.set()
    finally:
        await pipelines.create(f"pipeline-runs/{busy['id']}/cancel")


@pytest.mark.parametrize(
    ("kind", "media", "queue"),
    [
        ("probe", MediaState.WHOLE, "light_steps"),
        ("publish", MediaState.WHOLE, "light_steps"),
        # They wait for other jobs.
        ("redact_render", MediaState.WHOLE, "light_steps"),
        ("transcribe", MediaState.WHOLE, "light_steps"),
        ("transcribe", MediaState.ARRIVING, "steps"),
        ("sample_frames", MediaState.WHOLE, "steps"),
        ("detect_scenes", MediaState.ARRIVING, "steps"),
    ],
)
def test_steps_that_decode_or_transcribe_use_the_heavy_queue(
    kind: str, media: MediaState, queue: str
) -> None:
    assert STEP_TYPES[kind].queue(media) == queue
