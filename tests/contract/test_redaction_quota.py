"""Redactions use render minutes, as other films do."""

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from framekiln.kit.ids import OrganizationId
from framekiln.pipelines.execution.handlers import RunStep
from framekiln.pipelines.outputs.model import Annotation, StepOutput
from framekiln.pipelines.steps.redact_render import RedactRenderRunner
from framekiln.quotas.model import Quota
from tests.contract.conftest import TEMPLATE
from tests.support.app import BASE_URL
from tests.support.pipelines import PipelineHarness, ScriptedRunner, open_pipelines, step
from tests.support.postgres import PostgresServer

pytestmark = pytest.mark.spec("2.11")

SPOKEN = Annotation(kind="name", start_ms=500, end_ms=1000)
STEPS = {
    "find": step("probe"),
    "hide": step("redact_render", "find", with_={"kinds": ["name"]}),
}


@pytest.fixture
async def pipelines(
    postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[PipelineHarness]:
    folder = tmp_path_factory.mktemp("kiln")
    async with open_pipelines(postgres, folder, template=TEMPLATE, runners={}) as pipelines:
        parts = pipelines.app.services
        finds = ScriptedRunner([StepOutput({}, (SPOKEN,))])
        hides = RedactRenderRunner(parts.files, parts.renders, BASE_URL)
        pipelines.handler = RunStep(
            pipelines.services.worker, {"probe": finds, "redact_render": hides}
        )
        await pipelines.clear()
        yield pipelines


async def begin(pipelines: PipelineHarness, *, minutes: int) -> Any:
    """Start a run with a film of this length, and do its steps once."""
    file = await pipelines.add_file()
    await pipelines.run_sql("UPDATE file SET duration_ms = %s", minutes * 60_000)
    run = await pipelines.start_run(await pipelines.create_pipeline({"steps": STEPS}), file)
    await pipelines.run_all_jobs()
    return run


async def count_redactions(pipelines: PipelineHarness) -> int:
    jobs = "SELECT id FROM procrastinate_jobs WHERE task_name = 'render.redact'"
    return len(await pipelines.run_sql(jobs))


async def used_minutes(pipelines: PipelineHarness) -> int:
    used: int = (await pipelines.get("organization"))["quotas"]["render_minutes"]["used"]
    return used


async def test_a_redaction_uses_the_minutes_of_its_file_once(pipelines: PipelineHarness) -> None:
    await begin(pipelines, minutes=3)
    pipelines.clock.advance(timedelta(seconds=5))
    await pipelines.tick()
    await pipelines.run_all_jobs()
    assert (await used_minutes(pipelines), await count_redactions(pipelines)) == (3, 1)


async def test_a_redaction_without_minutes_left_fails_its_step_at_once(
    pipelines: PipelineHarness,
) -> None:
    organization_id = OrganizationId(UUID((await pipelines.get("organization"))["id"]))
    quotas = pipelines.app.services.quotas
    await quotas.set_limit(organization_id, Quota.RENDER_MINUTES, 0)
    run = await begin(pipelines, minutes=3)
    shown = await pipelines.get_run(run)
    assert (shown["status"], shown["error"]["code"]) == ("failed", "redaction_failed")
    assert "the quota render_minutes of this organization is used up" in shown["error"]["message"]
    assert [each["attempt"] for each in shown["steps"]] == [1, 1]
    assert (await used_minutes(pipelines), await count_redactions(pipelines)) == (0, 0)
    # Once there are minutes, the run goes on.
    await quotas.set_limit(organization_id, Quota.RENDER_MINUTES, 10)
    await pipelines.create(f"pipeline-runs/{run['id']}/retry")
    await pipelines.run_all_jobs()
    assert (await used_minutes(pipelines), await count_redactions(pipelines)) == (3, 1)
