"""Clauses 3.3, 4.7, 7 and 8: runs and batches as their owners see them."""

import asyncio
from datetime import timedelta
from typing import Any
from uuid import uuid4

import httpx
import pytest

from framekiln.kit.errors import Unavailable
from framekiln.pipelines.outputs.model import StepOutput
from tests.contract.spec.test_4_7_pipelines import issues, refused
from tests.support.app import AppHarness, new_key
from tests.support.pipelines import (
    API,
    PROBE,
    PipelineHarness,
    ScriptedRunner,
    enable_pipelines,
    step,
)

pytestmark = pytest.mark.spec("4.7")

NO_ID = str(uuid4())
TEN_MINUTES = timedelta(minutes=10)
TWO = {"steps": {"look": step("probe"), "out": step("publish", "look")}}


@pytest.fixture(autouse=True)
async def _empty_queue(pipelines: PipelineHarness) -> None:
    await pipelines.clear()


class TestCreation:
    @pytest.mark.spec("2.11")
    async def test_a_created_run_lists_all_its_steps(self, pipelines: PipelineHarness) -> None:
        pipeline, file = await pipelines.create_pipeline(TWO), await pipelines.add_file()
        body = {"pipeline_id": pipeline, "file_id": file, "external_id": "order-42"}
        answer = await pipelines.post("pipeline-runs", body)
        assert answer.status_code == 201
        made = answer.json()
        run = made.pop("run")
        assert made.pop("created") is True
        assert made == run == await pipelines.get_run(run)
        assert run["status"] == "running"
        assert (run["pipeline_id"], run["pipeline_version"]) == (pipeline, 1)
        assert (run["file_id"], run["external_id"]) == (file, "order-42")
        assert (run["batch_id"], run["error"], run["completed_at"]) == (None, None, None)
        look, out = run["steps"]
        assert (look["step_key"], look["type"], look["status"]) == ("look", "probe", "ready")
        assert look["id"]
        assert look["ready_at"]
        assert look["attempt"] == 0
        assert out["id"] is None
        assert out["status"] == "pending"

    @pytest.mark.spec("9")
    async def test_the_latest_version_unless_another_is_named(
        self, pipelines: PipelineHarness
    ) -> None:
        pipeline = await pipelines.create_pipeline()
        await pipelines.create(f"pipelines/{pipeline}/versions", TWO)
        assert (await pipelines.start_run(pipeline))["pipeline_version"] == 2
        run = await pipelines.start_run(pipeline, version=1)
        assert run["pipeline_version"] == 1
        assert [each["step_key"] for each in run["steps"]] == ["look"]

    @pytest.mark.spec("7")
    @pytest.mark.parametrize(
        ("change", "path", "code"),
        [
            ({"pipeline_id": "x"}, "pipeline_id", "pattern"),
            ({"file_id": 1}, "file_id", "type"),
            ({"version": 0}, "version", "out_of_range"),
            ({"external_id": ""}, "external_id", "empty"),
            ({"external_id": "x" * 256}, "external_id", "too_long"),
            ({"more": 1}, "more", "unknown_field"),
        ],
    )
    async def test_invalid_runs_are_refused(
        self, pipelines: PipelineHarness, change: dict[str, Any], path: str, code: str
    ) -> None:
        body = {"pipeline_id": NO_ID, "file_id": NO_ID, **change}
        assert issues(await pipelines.post("pipeline-runs", body)) == {(path, code)}

    @pytest.mark.spec("7")
    async def test_missing_pipeline_version_or_file_is_refused(
        self, pipelines: PipelineHarness
    ) -> None:
        pipeline, file = await pipelines.create_pipeline(), await pipelines.add_file()
        image = await pipelines.add_file(kind="image")

        async def asked(**body: Any) -> httpx.Response:
            return await pipelines.post("pipeline-runs", {"file_id": file, **body})

        refused(await asked(pipeline_id=NO_ID), 404, "pipeline_not_found")
        answer = await asked(pipeline_id=pipeline, version=2)
        refused(answer, 404, "pipeline_version_not_found")
        answer = await asked(pipeline_id=pipeline, file_id=NO_ID)
        refused(answer, 404, "file_not_found")
        answer = await asked(pipeline_id=pipeline, file_id=image)
        assert issues(answer) == {("file_id", "not_allowed")}
        await pipelines.create(f"pipelines/{pipeline}/archive")
        refused(await asked(pipeline_id=pipeline), 409, "pipeline_archived")

    async def test_files_and_pipelines_of_other_organizations_are_not_found(
        self, pipelines: PipelineHarness
    ) -> None:
        pipeline, file = await pipelines.create_pipeline(), await pipelines.add_file()
        other = AppHarness(
            pipelines.app.services, pipelines.app.asgi, key=await new_key(pipelines.app.services)
        )
        await enable_pipelines(other)
        body = {"name": "mine", "definition": PROBE}
        own = (await other.client.post(f"{API}/pipelines", json=body)).json()["id"]
        for named, error in ((pipeline, "pipeline_not_found"), (own, "file_not_found")):
            asked = {"pipeline_id": named, "file_id": file}
            answer = await other.client.post(f"{API}/pipeline-runs", json=asked)
            refused(answer, 404, error)
        run = await pipelines.start_run(pipeline, file)
        answer = await other.client.get(f"{API}/pipeline-runs/{run['id']}")
        refused(answer, 404, "pipeline_run_not_found")
        assert (await other.client.get(f"{API}/pipeline-runs")).json()["runs"] == []


@pytest.mark.spec("7", "8")
class TestIdempotency:
    async def test_repeating_a_request_returns_the_first_run(
        self, pipelines: PipelineHarness
    ) -> None:
        pipeline, file, key = (
            await pipelines.create_pipeline(),
            await pipelines.add_file(),
            "k" * 255,
        )
        body = {"pipeline_id": pipeline, "file_id": file}
        first = await pipelines.create("pipeline-runs", body, Idempotency_Key=key)
        # Even when nothing new would be accepted.
        await pipelines.create(f"pipelines/{pipeline}/archive")
        same = {**body, "external_id": None, "file_id": file.upper()}
        answer = await pipelines.post("pipeline-runs", same, Idempotency_Key=key)
        assert answer.status_code == 200
        assert (answer.json()["id"], answer.json()["created"]) == (first["id"], False)
        other = {**body, "external_id": "x"}
        answer = await pipelines.post("pipeline-runs", other, Idempotency_Key=key)
        refused(answer, 409, "idempotency_conflict")

    async def test_concurrent_requests_with_one_key_create_one_run(
        self, pipelines: PipelineHarness
    ) -> None:
        body = {
            "pipeline_id": await pipelines.create_pipeline(),
            "file_id": await pipelines.add_file(),
        }
        answers = await asyncio.gather(
            *(pipelines.post("pipeline-runs", body, Idempotency_Key="at once") for _ in range(5))
        )
        assert sorted(each.status_code for each in answers) == [200] * 4 + [201]
        assert len({each.json()["id"] for each in answers}) == 1
        listed = await pipelines.get("pipeline-runs", pipeline_id=body["pipeline_id"])
        assert len(listed["runs"]) == 1

    async def test_idempotency_keys_belong_to_one_organization(
        self, pipelines: PipelineHarness
    ) -> None:
        await pipelines.create(
            "pipeline-runs",
            {
                "pipeline_id": await pipelines.create_pipeline(),
                "file_id": await pipelines.add_file(),
            },
            Idempotency_Key="shared",
        )
        other = AppHarness(
            pipelines.app.services, pipelines.app.asgi, key=await new_key(pipelines.app.services)
        )
        await enable_pipelines(other)
        answer = await other.client.post(
            f"{API}/pipeline-runs",
            json={"pipeline_id": NO_ID, "file_id": NO_ID},
            headers={"Idempotency-Key": "shared"},
        )
        refused(answer, 404, "pipeline_not_found")

    async def test_runs_and_batches_share_the_keys_of_an_organization(
        self, pipelines: PipelineHarness
    ) -> None:
        run = {
            "pipeline_id": await pipelines.create_pipeline(),
            "file_id": await pipelines.add_file(),
        }
        batch = {"pipeline_id": run["pipeline_id"], "runs": [{"file_id": run["file_id"]}]}
        await pipelines.create("pipeline-runs", run, Idempotency_Key="of a run")
        answer = await pipelines.post("pipeline-batches", batch, Idempotency_Key="of a run")
        assert "used for a run" in refused(answer, 409, "idempotency_conflict")["message"]
        await pipelines.create("pipeline-batches", {**batch, "idempotency_key": "of a batch"})
        answer = await pipelines.post("pipeline-runs", run, Idempotency_Key="of a batch")
        assert "used for a batch" in refused(answer, 409, "idempotency_conflict")["message"]

    async def test_a_concurrent_run_and_batch_cannot_both_get_the_key(
        self, pipelines: PipelineHarness
    ) -> None:
        run = {
            "pipeline_id": await pipelines.create_pipeline(),
            "file_id": await pipelines.add_file(),
        }
        batch = {"pipeline_id": run["pipeline_id"], "runs": [{"file_id": run["file_id"]}]}
        asked = [("pipeline-runs", run), ("pipeline-batches", batch)] * 2
        answers = await asyncio.gather(
            *(pipelines.post(path, body, Idempotency_Key="for one") for path, body in asked)
        )
        assert sorted(each.status_code for each in answers) == [200, 201, 409, 409]

    @pytest.mark.parametrize(("key", "code"), [("k" * 256, "too_long"), ("", "empty")])
    async def test_invalid_idempotency_keys_are_refused(
        self, pipelines: PipelineHarness, key: str, code: str
    ) -> None:
        answer = await pipelines.post("pipeline-runs", Idempotency_Key=key)
        assert issues(answer) == {("Idempotency-Key", code)}


class TestLists:
    async def test_runs_are_filtered_and_paged(self, pipelines: PipelineHarness) -> None:
        pipeline, file = await pipelines.create_pipeline(), await pipelines.add_file()
        runs = [(await pipelines.start_run(pipeline, file))["id"] for _ in range(3)]
        await pipelines.start_run(pipeline)
        await pipelines.create(f"pipeline-runs/{runs[1]}/cancel")

        async def listed(**query: Any) -> list[str]:
            page = await pipelines.get("pipeline-runs", **query)
            return [each["id"] for each in page["runs"]]

        assert await listed(file_id=file) == runs[::-1]
        assert len(await listed(pipeline_id=pipeline)) == 4
        assert await listed(file_id=file, status="cancelled") == [runs[1]]
        assert await listed(batch_id=NO_ID) == []
        first = await pipelines.get("pipeline-runs", file_id=file, limit=2)
        assert await listed(file_id=file, cursor=first["next_cursor"]) == [runs[0]]
        answer = await pipelines.app.client.get(f"{API}/pipeline-runs?status=x&file_id=y")
        assert {path for path, _ in issues(answer)} == {"status", "file_id"}


@pytest.mark.spec("3.3")
class TestCancellation:
    async def test_cancelling_is_immediate_and_idempotent(self, pipelines: PipelineHarness) -> None:
        run = await pipelines.start_run(await pipelines.create_pipeline(TWO))
        shown = await pipelines.create(f"pipeline-runs/{run['id']}/cancel")
        assert (shown["status"], shown["error"]) == ("cancelled", None)
        assert shown["cancel_requested_at"]
        assert shown["completed_at"]
        assert [each["status"] for each in shown["steps"]] == ["cancelled", "cancelled"]
        assert await pipelines.create(f"pipeline-runs/{run['id']}/cancel") == shown
        await pipelines.run_all_jobs()
        assert await pipelines.get_run(run) == shown

    async def test_an_ended_run_cannot_be_cancelled(self, pipelines: PipelineHarness) -> None:
        run = await pipelines.start_run(await pipelines.create_pipeline())
        await pipelines.run_all_jobs()
        answer = await pipelines.post(f"pipeline-runs/{run['id']}/cancel")
        refused(answer, 409, "run_not_cancellable")

    async def test_a_retry_continues_after_the_steps_that_succeeded(
        self, pipelines: PipelineHarness
    ) -> None:
        run = await pipelines.start_run(await pipelines.create_pipeline(TWO))
        answer = await pipelines.post(f"pipeline-runs/{run['id']}/retry")
        refused(answer, 409, "run_not_retryable")
        await pipelines.run_job((await pipelines.take_jobs())[0])
        await pipelines.create(f"pipeline-runs/{run['id']}/cancel")
        shown = await pipelines.create(f"pipeline-runs/{run['id']}/retry")
        assert (shown["status"], shown["cancel_requested_at"]) == ("running", None)
        assert [each["status"] for each in shown["steps"]] == ["succeeded", "ready"]
        # The job from before it was stopped finds nothing more to do.
        await pipelines.run_all_jobs()
        shown = await pipelines.get_run(run)
        assert shown["status"] == "succeeded"
        assert [each["attempt"] for each in shown["steps"]] == [1, 1]


class TestOutputs:
    async def test_outputs_are_listed_by_run_and_by_file(self, pipelines: PipelineHarness) -> None:
        runner = pipelines.handler.runners["probe"]
        assert isinstance(runner, ScriptedRunner)
        file, pipeline = await pipelines.add_file(), await pipelines.create_pipeline(TWO)
        runs = []
        for number in (1, 2):
            runs.append(await pipelines.start_run(pipeline, file))
            runner.results = [StepOutput({"number": number, "half": 0.5})]
            await pipelines.run_all_jobs()
            pipelines.clock.advance(timedelta(seconds=1))
        page = await pipelines.get(f"pipeline-runs/{runs[0]['id']}/outputs/look")
        window = {"index": None, "start_ms": None, "end_ms": None, "overlap_ms": None}
        output = {"metadata": {"number": 1, "half": 0.5}, "annotations": []}
        assert page == {"outputs": [{"window": window, "output": output}], "next_cursor": None}
        names = await pipelines.get(f"files/{file}/metadata")
        assert [each["namespace"] for each in names["namespaces"]] == ["look", "out"]
        latest = await pipelines.get(f"files/{file}/metadata/look")
        assert (latest["run_id"], latest["step_key"]) == (runs[1]["id"], "look")
        assert latest["outputs"][0]["output"]["metadata"]["number"] == 2
        first = await pipelines.get(f"files/{file}/metadata", limit=1)
        second = await pipelines.get(f"files/{file}/metadata", cursor=first["next_cursor"])
        assert second["namespaces"] == names["namespaces"][1:]

    async def test_a_step_without_output_has_an_empty_page(
        self, pipelines: PipelineHarness
    ) -> None:
        file = await pipelines.add_file()
        run = await pipelines.start_run(await pipelines.create_pipeline(TWO), file)
        page = await pipelines.get(f"pipeline-runs/{run['id']}/outputs/out")
        assert page == {"outputs": [], "next_cursor": None}
        for path in (f"pipeline-runs/{run['id']}/outputs/other", f"files/{file}/metadata/look"):
            answer = await pipelines.app.client.get(f"{API}/{path}")
            refused(answer, 404, "namespace_not_found")
        assert (await pipelines.get(f"files/{file}/metadata"))["namespaces"] == []


class TestBatches:
    @pytest.mark.spec("7")
    async def test_a_batch_names_its_missing_files(self, pipelines: PipelineHarness) -> None:
        """The text was: there is no 2 of the files."""
        missing = [str(uuid4()), str(uuid4())]
        runs = [{"file_id": each} for each in (await pipelines.add_file(), *missing)]
        body = {"pipeline_id": await pipelines.create_pipeline(), "runs": runs}
        answer = await pipelines.post("pipeline-batches", body)
        assert (answer.status_code, answer.json()["error"]) == (404, "file_not_found")
        assert answer.json()["file_ids"] == missing
        assert answer.json()["message"] == ("2 of the 3 files do not exist: file_ids names them")

    @pytest.mark.spec("2.11", "3.3")
    async def test_a_batch_admits_max_in_flight_runs_oldest_first(
        self, pipelines: PipelineHarness
    ) -> None:
        files = [await pipelines.add_file() for _ in range(5)]
        asked = [{"file_id": file, "external_id": f"n{n}"} for n, file in enumerate(files)]
        body = {"pipeline_id": await pipelines.create_pipeline(), "runs": asked, "max_in_flight": 2}
        answer = await pipelines.post("pipeline-batches", body)
        assert answer.status_code == 201
        batch = answer.json()["batch"]
        assert (batch["status"], batch["run_count"], batch["max_in_flight"]) == ("running", 5, 2)
        seen = []
        await pipelines.tick()
        while jobs := await pipelines.take_jobs():
            listed = await pipelines.get("pipeline-runs", batch_id=batch["id"], status="running")
            assert len(listed["runs"]) <= 2
            seen.append(sorted(each["external_id"] for each in listed["runs"]))
            await pipelines.run_job(jobs[0])
            await pipelines.requeue(jobs[1:])
            await pipelines.tick()
        assert seen == [["n0", "n1"], ["n1", "n2"], ["n2", "n3"], ["n3", "n4"], ["n4"]]
        shown = await pipelines.get(f"pipeline-batches/{batch['id']}")
        assert shown.pop("batch") == shown
        assert (shown["status"], shown["succeeded_count"]) == ("completed", 5)
        assert shown["completed_at"]
        assert (await pipelines.get("pipeline-batches"))["batches"][0] == shown

    @pytest.mark.spec("2.11")
    async def test_a_batch_counts_runs_by_status(self, pipelines: PipelineHarness) -> None:
        runner = pipelines.handler.runners["probe"]
        assert isinstance(runner, ScriptedRunner)
        definition = {
            "steps": {
                "look": step("probe"),
                "keep": step("filter", "look", when={"path": "look.metadata.keep", "op": "exists"}),
            }
        }
        files = [await pipelines.add_file() for _ in range(4)]
        body = {
            "pipeline_id": await pipelines.create_pipeline(definition),
            "runs": [{"file_id": file} for file in files],
        }
        batch = (await pipelines.create("pipeline-batches", body))["batch"]
        await pipelines.tick()
        runs = (await pipelines.get("pipeline-runs", batch_id=batch["id"]))["runs"]
        await pipelines.create(f"pipeline-runs/{runs[0]['id']}/cancel")
        runner.results = [StepOutput({"keep": 1}), Unavailable("not now"), StepOutput({})]
        await pipelines.run_all_jobs()
        for _ in range(2):
            runner.results = [Unavailable("not now")]
            pipelines.clock.advance(TEN_MINUTES)
            await pipelines.tick()
            await pipelines.run_all_jobs()
        await pipelines.tick()
        shown = await pipelines.get(f"pipeline-batches/{batch['id']}")
        counts = {key: shown[f"{key}_count"] for key in ("succeeded", "failed", "filtered")}
        assert counts == {"succeeded": 1, "failed": 1, "filtered": 1}
        assert (shown["cancelled_count"], shown["status"]) == (1, "completed")
        # A retry opens it again.
        await pipelines.create(f"pipeline-runs/{runs[0]['id']}/retry")
        assert (await pipelines.get(f"pipeline-batches/{batch['id']}"))["status"] == "running"
        await pipelines.tick()
        await pipelines.run_all_jobs()
        await pipelines.tick()
        shown = await pipelines.get(f"pipeline-batches/{batch['id']}")
        assert (shown["status"], shown["filtered_count"]) == ("completed", 2)

    async def test_cancelling_a_batch_stops_what_runs_and_what_waits(
        self, pipelines: PipelineHarness
    ) -> None:
        files = [await pipelines.add_file() for _ in range(3)]
        body = {
            "pipeline_id": await pipelines.create_pipeline(),
            "runs": [{"file_id": file} for file in files],
            "max_in_flight": 1,
        }
        batch = (await pipelines.create("pipeline-batches", body))["batch"]
        await pipelines.tick()
        for _ in range(2):
            shown = await pipelines.create(f"pipeline-batches/{batch['id']}/cancel")
            assert shown["cancelled_count"] == 3
        await pipelines.tick()
        await pipelines.run_all_jobs()
        shown = await pipelines.get(f"pipeline-batches/{batch['id']}")
        assert (shown["status"], shown["succeeded_count"]) == ("completed", 0)
        answer = await pipelines.post(f"pipeline-batches/{NO_ID}/cancel", {})
        refused(answer, 404, "pipeline_batch_not_found")

    async def test_repeating_a_request_returns_the_first_batch(
        self, pipelines: PipelineHarness
    ) -> None:
        run = {"file_id": await pipelines.add_file()}
        body = {"pipeline_id": await pipelines.create_pipeline(), "runs": [run]}
        first = await pipelines.create("pipeline-batches", body, Idempotency_Key="one")
        answer = await pipelines.post("pipeline-batches", body, Idempotency_Key="one")
        assert (answer.status_code, answer.json()["created"]) == (200, False)
        assert answer.json()["batch"]["id"] == first["batch"]["id"]
        other = {**body, "max_in_flight": 1}
        answer = await pipelines.post("pipeline-batches", other, Idempotency_Key="one")
        refused(answer, 409, "idempotency_conflict")
        keyed = {**body, "idempotency_key": "two"}
        batches = [
            (await pipelines.create("pipeline-batches", keyed))["batch"]["id"] for _ in range(2)
        ]
        assert batches[0] == batches[1] != first["batch"]["id"]
        answer = await pipelines.post("pipeline-batches", body, Idempotency_Key="two")
        assert (answer.status_code, answer.json()["batch"]["id"]) == (200, batches[0])

    @pytest.mark.spec("7")
    async def test_a_batch_with_an_image_or_an_archived_pipeline_is_refused(
        self, pipelines: PipelineHarness
    ) -> None:
        known, pipeline = await pipelines.add_file(), await pipelines.create_pipeline()
        image = {"file_id": await pipelines.add_file(kind="image")}
        body = {"pipeline_id": pipeline, "runs": [{"file_id": known}, image]}
        assert issues(await pipelines.post("pipeline-batches", body)) == {
            ("runs.1.file_id", "not_allowed")
        }
        assert (await pipelines.get("pipeline-runs", pipeline_id=pipeline))["runs"] == []
        await pipelines.create(f"pipelines/{pipeline}/archive")
        answer = await pipelines.post("pipeline-batches", {**body, "runs": [{"file_id": known}]})
        refused(answer, 409, "pipeline_archived")

    @pytest.mark.spec("7", "8")
    @pytest.mark.parametrize(
        ("change", "path", "code"),
        [
            ({"runs": []}, "runs", "empty"),
            ({"runs": [{"file_id": str(uuid4())} for _ in range(1001)]}, "runs", "too_many"),
            ({"runs": [{"file_id": NO_ID}, {"file_id": NO_ID}]}, "runs.1.file_id", "duplicate"),
            ({"runs": [{"file_id": "x"}]}, "runs.0.file_id", "pattern"),
            ({"runs": [{"file_id": NO_ID, "x": 1}]}, "runs.0.x", "unknown_field"),
            ({"max_in_flight": 0}, "max_in_flight", "out_of_range"),
            ({"max_in_flight": 100_001}, "max_in_flight", "out_of_range"),
            ({"idempotency_key": "k" * 256}, "idempotency_key", "too_long"),
        ],
    )
    async def test_invalid_batches_are_refused(
        self, pipelines: PipelineHarness, change: dict[str, Any], path: str, code: str
    ) -> None:
        body = {"pipeline_id": NO_ID, "runs": [{"file_id": NO_ID}], **change}
        assert issues(await pipelines.post("pipeline-batches", body)) == {(path, code)}

    @pytest.mark.spec("8")
    async def test_a_batch_may_have_a_thousand_runs(self, pipelines: PipelineHarness) -> None:
        organization = (await pipelines.get("organization"))["id"]
        rows = await pipelines.run_sql(
            """
            INSERT INTO file (id, organization_id, filename, type, status, created_at)
            SELECT gen_random_uuid(), %s, 'x', 'video', 'created', now()
            FROM generate_series(1, 1000) RETURNING id
            """,
            organization,
        )
        runs = [{"file_id": str(row["id"])} for row in rows]
        body = {
            "pipeline_id": await pipelines.create_pipeline(),
            "runs": runs,
            "max_in_flight": 100_000,
        }
        batch = (await pipelines.create("pipeline-batches", body))["batch"]
        assert (batch["run_count"], batch["status"]) == (1000, "running")
