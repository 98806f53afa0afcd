"""Clauses 3.3 and 4.7: people decide, correct, come too late, or never come."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from framekiln.pipelines.outputs.output import Annotation, Keyframe, Output
from tests.contract.spec.test_4_7_pipelines import issues, refused
from tests.support.pipelines import API, Line, step

pytestmark = pytest.mark.spec("3.3", "4.7")

FACE = Annotation(
    kind="face",
    start_ms=0,
    end_ms=500,
    keyframes=(Keyframe(t_ms=0, x=0, y=0, w=0.5, h=0.5),),
)
WORD = Annotation(kind="word", start_ms=100, end_ms=200, text="hello")
FOUND = Output({"count": 2}, (FACE, WORD))
MINUTE = timedelta(minutes=1)


def reviewed(**settings: Any) -> dict[str, Any]:
    return {
        "steps": {
            "look": step("probe"),
            "check": step("review", "look", with_={"expires_after_ms": 60_000, **settings}),
            "out": step("publish", "check"),
        }
    }


async def waiting(line: Line, **settings: Any) -> tuple[Any, Any]:
    """Return a run that waits for somebody, and the task."""
    pipeline = await line.pipeline(reviewed(**settings))
    run = await line.run(pipeline)
    line.handler.runners["probe"].answers = [FOUND]  # type: ignore[attr-defined]
    await line.work()
    assert (await line.statuses(run))["check"] == "waiting_review"
    return run, await task_of(line, run)


async def task_of(line: Line, run: Any) -> Any:
    return (await line.get("pipeline-reviews", run_id=run["id"], limit=1))["reviews"][0]


async def inputs_of_out(line: Line) -> dict[str, Output]:
    """Return what the last step was given."""
    works = line.handler.runners["publish"].works  # type: ignore[attr-defined]
    return dict(works[-1].inputs)


class TestTasks:
    async def test_what_is_asked(self, line: Line) -> None:
        run, task = await waiting(line, instructions="Are these faces?")
        check = (await line.shown(run))["steps"][1]
        assert task["instructions"] == "Are these faces?"
        assert (task["status"], task["decision"], task["decided_at"]) == ("pending", None, None)
        assert (task["step_key"], task["step_run_id"]) == ("check", check["id"])
        assert (task["run_id"], task["input_namespaces"]) == (run["id"], ["look"])
        assert task["expires_at"] == check["deadline_at"]
        assert await line.get(f"pipeline-reviews/{task['id']}") == task
        pending = await line.get("pipeline-reviews", status="pending")
        assert task in pending["reviews"]

    async def test_approved_as_it_is(self, line: Line) -> None:
        run, task = await waiting(line)
        decided = await line.made(f"pipeline-reviews/{task['id']}/approve")
        key = await line.kiln.services.identity.authenticate(line.kiln.key)
        by = {"type": "api_key", "id": str(key.api_key_id)}
        assert decided["status"] == "approved"
        assert decided["decision"] == {"decision": "approved", "decided_by": by, "reason": None}
        await line.work()
        assert (await line.statuses(run))[""] == "succeeded"
        inputs = await inputs_of_out(line)
        assert inputs["look"] == FOUND
        assert inputs["check"].metadata["decision"] == "approved"

    async def test_corrected(self, line: Line) -> None:
        _run, task = await waiting(line)
        moved = {"kind": "face", "start_ms": 0, "end_ms": 900}
        added = {"kind": "plate", "start_ms": 5, "end_ms": 6}
        patch = {"annotations": [moved, added], "reviewed_kinds": ["word"]}
        body = {"metadata_patch": patch}
        decided = await line.made(f"pipeline-reviews/{task['id']}/approve", body)
        assert decided["metadata_patch"]["reviewed_kinds"] == ["face", "plate", "word"]
        await line.work()
        inputs = await inputs_of_out(line)
        assert inputs["look"].annotations == (Annotation(kind="face", start_ms=0, end_ms=900),)
        assert inputs["check"].annotations == (Annotation(kind="plate", start_ms=5, end_ms=6),)
        assert inputs["check"].metadata["corrected_kinds"] == ["face", "plate", "word"]

    async def test_rejected(self, line: Line) -> None:
        run, task = await waiting(line)
        decided = await line.made(f"pipeline-reviews/{task['id']}/reject", {"reason": "blurred"})
        assert decided["decision"]["reason"] == "blurred"
        assert await line.statuses(run) == {
            "": "filtered",
            "look": "succeeded",
            "check": "skipped",
            "out": "skipped",
        }


class TestTwice:
    async def test_the_same_decision_returns_the_recorded_one(self, line: Line) -> None:
        _run, task = await waiting(line)
        address = f"pipeline-reviews/{task['id']}"
        body = {"metadata_patch": {"reviewed_kinds": ["face"]}}
        first = await line.made(f"{address}/approve", body)
        assert await line.made(f"{address}/approve", body) == first
        refused(await line.post(f"{address}/approve"), 409, "review_conflict")
        refused(await line.post(f"{address}/reject"), 409, "review_conflict")

    async def test_of_two_at_once_one_decides(self, line: Line) -> None:
        run, task = await waiting(line)
        address = f"pipeline-reviews/{task['id']}"
        answers = await asyncio.gather(
            line.post(f"{address}/approve"), line.post(f"{address}/reject")
        )
        assert sorted(each.status_code for each in answers) == [200, 409]
        statuses = await line.statuses(run)
        is_approved = answers[0].status_code == 200
        assert statuses["check"] == ("succeeded" if is_approved else "skipped")


class TestTime:
    @pytest.mark.parametrize(
        ("on_expiry", "check", "ended"),
        [
            ("approve", "succeeded", "succeeded"),
            ("reject", "skipped", "filtered"),
            ("fail", "failed", "failed"),
        ],
    )
    async def test_nobody_decides(self, line: Line, on_expiry: str, check: str, ended: str) -> None:
        run, task = await waiting(line, on_expiry=on_expiry)
        line.clock.advance(MINUTE - timedelta(milliseconds=1))
        await line.tick()
        assert (await line.statuses(run))["check"] == "waiting_review"
        line.clock.advance(timedelta(milliseconds=1))
        await line.tick()
        await line.work()
        statuses = await line.statuses(run)
        assert (statuses["check"], statuses[""]) == (check, ended)
        shown = await task_of(line, run)
        assert shown["status"] == "expired"
        assert shown["decision"] == {"decision": "expired", "decided_by": None, "reason": None}
        answer = await line.post(f"pipeline-reviews/{task['id']}/approve")
        refused(answer, 409, "review_expired")

    async def test_too_late_is_too_late_even_before_the_tick(self, line: Line) -> None:
        run, task = await waiting(line, on_expiry="approve")
        line.clock.advance(MINUTE)
        answer = await line.post(f"pipeline-reviews/{task['id']}/reject")
        refused(answer, 409, "review_expired")
        assert (await line.statuses(run))["check"] == "succeeded"

    async def test_a_retry_opens_a_new_task(self, line: Line) -> None:
        run, task = await waiting(line)
        line.clock.advance(MINUTE)
        await line.tick()
        shown = await line.shown(run)
        assert (shown["status"], shown["error"]["code"]) == ("failed", "review_expired")
        assert shown["error"]["step_key"] == "check"
        await line.made(f"pipeline-runs/{run['id']}/retry")
        other = await task_of(line, run)
        assert (other["status"], other["attempt"]) == ("pending", 2)
        assert other["id"] != task["id"]
        await line.made(f"pipeline-reviews/{other['id']}/approve")
        await line.work()
        assert (await line.statuses(run))[""] == "succeeded"


class TestStopped:
    async def test_a_stopped_run_takes_its_task_back(self, line: Line) -> None:
        run, task = await waiting(line)
        await line.made(f"pipeline-runs/{run['id']}/cancel")
        assert (await task_of(line, run))["status"] == "cancelled"
        for decision in ("approve", "reject"):
            answer = await line.post(f"pipeline-reviews/{task['id']}/{decision}")
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
    async def test_approval(self, line: Line, body: Any, path: str, code: str) -> None:
        run, task = await waiting(line)
        address = f"pipeline-reviews/{task['id']}/approve"
        assert issues(await line.post(address, body)) == {(path, code)}
        assert (await line.statuses(run))["check"] == "waiting_review"

    async def test_rejection(self, line: Line) -> None:
        _run, task = await waiting(line)
        address = f"pipeline-reviews/{task['id']}/reject"
        found = issues(await line.post(address, {"reason": "x" * 2001, "why": 1}))
        assert found == {("reason", "too_long"), ("why", "unknown_field")}
        answer = await line.kiln.client.post(f"{API}/{address}", content=b"[1]")
        assert issues(answer) == {("", "type")}
