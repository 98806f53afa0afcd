"""The webhook events of a run and its batch: which, in which order, with what."""

from datetime import timedelta
from typing import Any

import pytest

from framekiln.kit.errors import Unavailable
from framekiln.webhooks.model import NewSubscription
from framekiln.webhooks.topics import TOPICS
from tests.support.pipelines import PipelineHarness, ScriptedRunner, step


@pytest.fixture(autouse=True)
async def _empty_queue(pipelines: PipelineHarness) -> None:
    await pipelines.clear()


@pytest.fixture(scope="module", autouse=True)
async def _subscription(pipelines: PipelineHarness) -> None:
    key = await pipelines.app.services.identity.authenticate(pipelines.app.key)
    await pipelines.app.services.webhooks.create(
        NewSubscription(
            key.organization.id,
            key.api_key_id,
            "http://127.0.0.1:9/",
            ("pipeline_run.*", "pipeline_step.*", "pipeline_review.*", "pipeline_batch.*"),
        )
    )


async def test_the_first_events_of_a_run_have_its_status_at_that_time(
    pipelines: PipelineHarness,
) -> None:
    """`pipeline_run.created` said `running`."""
    run = await pipelines.start_run(
        await pipelines.create_pipeline({"steps": {"look": step("probe")}})
    )
    await pipelines.tick()
    events = await events_of(pipelines, run["id"])
    assert [(topic, data["status"]) for topic, data in events[:2]] == [
        ("pipeline_run.created", "pending"),
        ("pipeline_run.started", "running"),
    ]


async def test_events_are_recorded_in_order(
    pipelines: PipelineHarness, probe: ScriptedRunner
) -> None:
    definition = {
        "steps": {
            "look": step("probe"),
            "check": step("review", "look"),
            "out": step("publish", "check"),
        }
    }
    probe.results = [Unavailable("not now")]
    body = {
        "pipeline_id": await pipelines.create_pipeline(definition),
        "runs": [{"file_id": await pipelines.add_file()}],
    }
    batch = (await pipelines.create("pipeline-batches", body))["batch"]
    await pipelines.tick()
    await pipelines.run_all_jobs()
    pipelines.clock.advance(timedelta(seconds=10))
    await pipelines.tick()
    await pipelines.run_all_jobs()
    [run] = (await pipelines.get("pipeline-runs", batch_id=batch["id"]))["runs"]
    [task] = (await pipelines.get("pipeline-reviews", run_id=run["id"]))["reviews"]
    await pipelines.create(f"pipeline-reviews/{task['id']}/approve")
    await pipelines.run_all_jobs()
    await pipelines.tick()
    events = await events_of(pipelines, run["id"])
    assert [topic for topic, _ in events] == [
        "pipeline_run.created",
        "pipeline_run.started",
        "pipeline_step.started",
        "pipeline_step.retrying",
        "pipeline_step.started",
        "pipeline_step.completed",
        "pipeline_step.waiting_review",
        "pipeline_review.decided",
        "pipeline_step.completed",
        "pipeline_step.started",
        "pipeline_step.completed",
        "pipeline_run.completed",
    ]
    assert [data["sequence"] for _, data in events] == list(range(1, len(events) + 1))
    assert events[6][1]["review_task_id"] == task["id"]
    assert events[5][1]["watermark_ms"] == 2000
    batches = await events_of(pipelines, batch["id"])
    assert [topic for topic, _ in batches] == [
        "pipeline_batch.created",
        "pipeline_batch.completed",
    ]
    assert batches[1][1]["runs"]["succeeded"] == 1
    for topic, data in events + batches:
        assert set(data) == set(TOPICS[topic].sample), topic


async def events_of(pipelines: PipelineHarness, resource: str) -> list[tuple[str, Any]]:
    rows = await pipelines.run_sql(
        """
        SELECT topic, body::json -> 'data' AS data FROM webhook_event event
        JOIN webhook_delivery delivery ON event_id = event.id
        WHERE event.resource_id = %s ORDER BY delivery.position
        """,
        resource,
    )
    return [(row["topic"], row["data"]) for row in rows]
