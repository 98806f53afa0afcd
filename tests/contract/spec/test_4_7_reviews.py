"""Clauses 3.3 and 4.7: people decide, correct, come too late, or never come."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from framekiln.pipelines.outputs.model import Annotation, BoxKeyframe, StepOutput
from tests.contract.spec.test_4_7_pipelines import issues, refused
from tests.support.pipelines import API, PipelineHarness, step

pytestmark = pytest.mark.spec("3.3", "4.7")

FACE = Annotation(
    kind="face",
    start_ms=0,
    end_ms=500,
    keyframes=(BoxKeyframe(t_ms=0, x=0, y=0, w=0.5, h=0.5),),
)
WORD = Annotation(kind="word", start_ms=100, end_ms=200, text="hello")
FOUND = StepOutput({"count": 2}, (FACE, WORD))
MINUTE = timedelta(minutes=1)


def reviewed(**settings: Any) -> dict[str, Any]:
    return {
        "steps": {
            "look": step("probe"),
            "check": step("review", "look", with_={"expires_after_ms": 60_000, **settings}),
            "out": step("publish", "check"),
        }
    }


async def waiting(pipelines: PipelineHarness, **settings: Any) -> tuple[Any, Any]:
    """Return a run that waits for somebody, and the task."""
    pipeline = await pipelines.create_pipeline(reviewed(**settings))
    run = await pipelines.start_run(pipeline)
    pipelines.handler.runners["probe"].results = [FOUND]  # type: ignore[attr-defined]
    await pipelines.run_all_jobs()
    assert (await pipelines.statuses(run))["check"] == "waiting_review"
    return run, await task_of(pipelines, run)


async def task_of(pipelines: PipelineHarness, run: Any) -> Any:
    return (await pipelines.get("pipeline-reviews", run_id=run["id"], limit=1))["reviews"][0]


async def inputs_of_out(pipelines: PipelineHarness) -> dict[str, StepOutput]:
    """Return what the last step was given."""
    works = pipelines.handler.runners["publish"].calls  # type: ignore[attr-defined]
    return dict(works[-1].inputs)


class TestTasks:
    async def test_a_task_has_its_inputs_and_instructions(self, pipelines: PipelineHarness) -> None:
        run, task = await waiting(pipelines, instructions="Are these faces?")
        check = (await pipelines.get_run(run))["steps"][1]
        assert task["instructions"] == "Are these faces?"
        assert (task["status"], task["decision"], task["decided_at"]) == ("pending", None, None)
        assert (task["step_key"], task["step_run_id"]) == ("check", check["id"])
        assert (task["run_id"], task["input_namespaces"]) == (run["id"], ["look"])
        assert task["expires_at"] == check["deadline_at"]
        assert await pipelines.get(f"pipeline-reviews/{task['id']}") == task
        pending = await pipelines.get("pipeline-reviews", status="pending")
        assert task in pending["reviews"]

    async def test_approval_passes_the_annotations_on(self, pipelines: PipelineHarness) -> None:
        run, task = await waiting(pipelines)
        decided = await pipelines.create(f"pipeline-reviews/{task['id']}/approve")
        key = await pipelines.app.services.identity.authenticate(pipelines.app.key)
        by = {"type": "api_key", "id": str(key.api_key_id)}
        assert decided["status"] == "approved"
        assert decided["decision"] == {"decision": "approved", "decided_by": by, "reason": None}
        await pipelines.run_all_jobs()
        assert (await pipelines.statuses(run))[""] == "succeeded"
        inputs = await inputs_of_out(pipelines)
        assert inputs["look"] == FOUND
        assert inputs["check"].metadata["decision"] == "approved"

    async def test_corrections_replace_the_annotations_of_their_kinds(
        self, pipelines: PipelineHarness
    ) -> None:
        _run, task = await waiting(pipelines)
        moved = {"kind": "face", "start_ms": 0, "end_ms": 900}
        added = {"kind": "plate", "start_ms": 5, "end_ms": 6}
        patch = {"annotations": [moved, added], "reviewed_kinds": ["word"]}
        body = {"metadata_patch": patch}
        decided = await pipelines.create(f"pipeline-reviews/{task['id']}/approve", body)
        assert decided["metadata_patch"]["reviewed_kinds"] == ["face", "plate", "word"]
        await pipelines.run_all_jobs()
        inputs = await inputs_of_out(pipelines)
        assert inputs["look"].annotations == (Annotation(kind="face", start_ms=0, end_ms=900),)
        assert inputs["check"].annotations == (Annotation(kind="plate", start_ms=5, end_ms=6),)
        assert inputs["check"].metadata["corrected_kinds"] == ["face", "plate", "word"]

    async def test_rejection_filters_the_run(self, pipelines: PipelineHarness) -> None:
        run, task = await waiting(pipelines)
        decided = await pipelines.create(
            f"pipeline-reviews/{task['id']}/reject", {"reason": "blurred"}
        )
        assert decided["decision"]["reason"] == "blurred"
        assert await pipelines.statuses(run) == {
            "": "filtered",
            "look": "succeeded",
            "check": "skipped",
            "out": "skipped",
        }


class TestRepeatedDecisions:
    async def test_the_same_decision_returns_the_recorded_one(
        self, pipelines: PipelineHarness
    ) -> None:
        _run, task = await waiting(pipelines)
        address = f"pipeline-reviews/{task['id']}"
        body = {"metadata_patch": {"reviewed_kinds": ["face"]}}
        first = await pipelines.create(f"{address}/approve", body)
        assert await pipelines.create(f"{address}/approve", body) == first
        refused(await pipelines.post(f"{address}/approve"), 409, "review_conflict")
        refused(await pipelines.post(f"{address}/reject"), 409, "review_conflict")

    async def test_one_of_two_concurrent_decisions_wins(self, pipelines: PipelineHarness) -> None:
        run, task = await waiting(pipelines)
        address = f"pipeline-reviews/{task['id']}"
        answers = await asyncio.gather(
            pipelines.post(f"{address}/approve"), pipelines.post(f"{address}/reject")
        )
        assert sorted(each.status_code for each in answers) == [200, 409]
        statuses = await pipelines.statuses(run)
        is_approved = answers[0].status_code == 200
        assert statuses["check"] == ("succeeded" if is_approved else "skipped")


class TestReviewExpiry:
    @pytest.mark.parametrize(
        ("on_expiry", "check", "ended"),
        [
            ("approve", "succeeded", "succeeded"),
            ("reject", "skipped", "filtered"),
            ("fail", "failed", "failed"),
        ],
    )
    async def test_an_undecided_review_expires_as_configured(
        self, pipelines: PipelineHarness, on_expiry: str, check: str, ended: str
    ) -> None:
        run, task = await waiting(pipelines, on_expiry=on_expiry)
        pipelines.clock.advance(MINUTE - timedelta(milliseconds=1))
        await pipelines.tick()
        assert (await pipelines.statuses(run))["check"] == "waiting_review"
        pipelines.clock.advance(timedelta(milliseconds=1))
        await pipelines.tick()
        await pipelines.run_all_jobs()
        statuses = await pipelines.statuses(run)
        assert (statuses["check"], statuses[""]) == (check, ended)
        shown = await task_of(pipelines, run)
        assert shown["status"] == "expired"
        assert shown["decision"] == {"decision": "expired", "decided_by": None, "reason": None}
        answer = await pipelines.post(f"pipeline-reviews/{task['id']}/approve")
        refused(answer, 409, "review_expired")

    async def test_a_decision_after_expiry_is_refused_before_the_tick(
        self, pipelines: PipelineHarness
    ) -> None:
        run, task = await waiting(pipelines, on_expiry="approve")
        pipelines.clock.advance(MINUTE)
        answer = await pipelines.post(f"pipeline-reviews/{task['id']}/reject")
        refused(answer, 409, "review_expired")
        assert (await pipelines.statuses(run))["check"] == "succeeded"

    async def test_a_retry_opens_a_new_task(self, pipelines: PipelineHarness) -> None:
        run, task = await waiting(pipelines)
        pipelines.clock.advance(MINUTE)
        await pipelines.tick()
        shown = await pipelines.get_run(run)
        assert (shown["status"], shown["error"]["code"]) == ("failed", "review_expired")
        assert shown["error"]["step_key"] == "check"
        await pipelines.create(f"pipeline-runs/{run['id']}/retry")
        other = await task_of(pipelines, run)
        assert (other["status"], other["attempt"]) == ("pending", 2)
        assert other["id"] != task["id"]
        await pipelines.create(f"pipeline-reviews/{other['id']}/approve")
        await pipelines.run_all_jobs()
        assert (await pipelines.statuses(run))[""] == "succeeded"


class TestCancelledRuns:
    async def test_a_stopped_run_withdraws_its_task(self, pipelines: PipelineHarness) -> None:
        run, task = await waiting(pipelines)
        await pipelines.create(f"pipeline-runs/{run['id']}/cancel")
        assert (await task_of(pipelines, run))["status"] == "cancelled"
        for decision in ("approve", "reject"):
            answer = await pipelines.post(f"pipeline-reviews/{task['id']}/{decision}")
            refused(answer, 409, "review_not_pending")


@pytest.mark.spec("7", "8")
class TestWrongBodies:
    @pytest.mark.parametrize(
        ("body", "path", "code"),
        [
            ({"more": 1}, "more", "unknown_field"),
            ({"metadata_patch": []}, "metadata_patch", "type"),
            ({"metadata_patch": {"x": 1}}, "metadata_patch.x", "unknown_field"),
            (
                {"metadata_patch": {"annotations": [{"kind": "a", "start_ms": 2, "end_ms": 1}]}},
                "metadata_patch.annotations.0.end_ms",
                "out_of_range",
            ),
            (
                {"metadata_patch": {"reviewed_kinds": [f"k{n}" for n in range(33)]}},
                "metadata_patch.reviewed_kinds",
                "too_many",
            ),
        ],
    )
    async def test_invalid_approvals_are_refused(
        self, pipelines: PipelineHarness, body: Any, path: str, code: str
    ) -> None:
        run, task = await waiting(pipelines)
        address = f"pipeline-reviews/{task['id']}/approve"
        assert issues(await pipelines.post(address, body)) == {(path, code)}
        assert (await pipelines.statuses(run))["check"] == "waiting_review"

    async def test_invalid_rejections_are_refused(self, pipelines: PipelineHarness) -> None:
        _run, task = await waiting(pipelines)
        address = f"pipeline-reviews/{task['id']}/reject"
        found = issues(await pipelines.post(address, {"reason": "x" * 2001, "why": 1}))
        assert found == {("reason", "too_long"), ("why", "unknown_field")}
        answer = await pipelines.app.client.post(f"{API}/{address}", content=b"[1]")
        assert issues(answer) == {("", "type")}
