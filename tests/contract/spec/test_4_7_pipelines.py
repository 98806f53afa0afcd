"""Clauses 4.7, 7 and 9: pipelines, versions and endpoints, and all that can be wrong."""

from base64 import urlsafe_b64encode
from typing import Any
from uuid import uuid4

import httpx
import pytest

from framekiln.pipelines.definition.normal_form import digest
from framekiln.pipelines.services.pipelines import read_definition
from framekiln.pipelines.steps import STEP_TYPES
from tests.support.app import AppHarness, new_key
from tests.support.pipelines import API, PROBE, PipelineHarness, enable_pipelines, step

pytestmark = pytest.mark.spec("4.7")

NO_ID = str(uuid4())
ENDPOINT = {"url": "https://93.184.215.14/work"}


def refused(answer: httpx.Response, status: int, error: str) -> dict[str, Any]:
    """Return the body of an answer that says so."""
    body: dict[str, Any] = answer.json()
    assert (answer.status_code, body["error"]) == (status, error), answer.text
    return body


def issues(answer: httpx.Response, error: str = "invalid_request") -> set[tuple[str, str]]:
    """Return where and what is wrong, and nothing else."""
    body = refused(answer, 422, error)
    assert all(set(each) == {"path", "code"} for each in body["issues"])
    return {(each["path"], each["code"]) for each in body["issues"]}


def calling(endpoint_id: str) -> dict[str, Any]:
    return {"steps": {"ask": step("endpoint", with_={"endpoint_id": endpoint_id})}}


class TestPipelines:
    @pytest.mark.spec("2.11", "9")
    async def test_creating_a_pipeline_creates_version_1(self, pipelines: PipelineHarness) -> None:
        name = f"p {uuid4()}"
        made = await pipelines.create("pipelines", {"name": name, "definition": PROBE})
        assert made.pop("warnings") == []
        assert (made["name"], made["latest_version"], made["archived_at"]) == (name, 1, None)
        version = made["version"]
        assert version["version"] == 1
        assert version["digest"] == digest(read_definition(PROBE, STEP_TYPES))
        assert version["definition"]["steps"]["look"] == {
            "type": "probe",
            "needs": [],
            "namespace": "look",
            "granularity": {"mode": "file"},
        }
        assert await pipelines.get(f"pipelines/{made['id']}") == made

    async def test_a_definition_is_checked_without_being_stored(
        self, pipelines: PipelineHarness
    ) -> None:
        before = await pipelines.get("pipelines")
        wrong = {"steps": {"a": step("probey"), "b": step("probe", "zz")}}
        for definition, expected in (
            (PROBE, []),
            (wrong, [("steps.a.type", "unknown_type"), ("steps.b.needs.0", "unknown_step")]),
            (calling(NO_ID), [("steps.ask.with.endpoint_id", "unknown_value")]),
            ([1], [("", "type")]),
        ):
            answer = await pipelines.post("pipelines/validate", definition)
            assert answer.status_code == 200
            checked = answer.json()
            found = [(each["path"], each["code"]) for each in checked["issues"]]
            assert (found, checked["valid"]) == (expected, not expected)
        assert await pipelines.get("pipelines") == before

    @pytest.mark.spec("7")
    async def test_a_name_is_taken_until_its_pipeline_is_archived(
        self, pipelines: PipelineHarness
    ) -> None:
        body = {"name": f"p {uuid4()}", "definition": PROBE}
        made = await pipelines.create("pipelines", body)
        refused(await pipelines.post("pipelines", body), 409, "pipeline_name_taken")
        archived = await pipelines.create(f"pipelines/{made['id']}/archive")
        assert archived["archived_at"]
        assert await pipelines.create(f"pipelines/{made['id']}/archive") == archived
        again = await pipelines.create("pipelines", body)
        assert again["id"] != made["id"]

    async def test_delete_archives_too(self, pipelines: PipelineHarness) -> None:
        pipeline = await pipelines.create_pipeline()
        answer = await pipelines.app.client.delete(f"{API}/pipelines/{pipeline}")
        assert answer.json()["archived_at"]
        assert (await pipelines.get(f"pipelines/{pipeline}"))["archived_at"]

    @pytest.mark.spec("7")
    async def test_all_issues_of_a_definition_are_reported(
        self, pipelines: PipelineHarness
    ) -> None:
        definition = {
            "steps": {
                "Look": step("probe"),
                "keep": step("filter", when={"path": "look.metadata.x", "op": "exists"}),
                "send": step("post"),
            },
            "more": 1,
        }
        body = {"name": "x", "definition": definition}
        found = issues(await pipelines.post("pipelines", body), "invalid_definition")
        assert found == {
            ("more", "unknown_field"),
            ("steps.Look", "pattern"),
            ("steps.keep.when.path", "not_upstream"),
            ("steps.send.type", "unknown_type"),
        }

    @pytest.mark.spec("7")
    @pytest.mark.parametrize(
        ("body", "path", "code"),
        [
            ({"name": "x"}, "definition", "required"),
            ({"definition": PROBE}, "name", "required"),
            ({"name": "", "definition": PROBE}, "name", "empty"),
            ({"name": "  ", "definition": PROBE}, "name", "empty"),
            ({"name": "x" * 201, "definition": PROBE}, "name", "too_long"),
            ({"name": 1, "definition": PROBE}, "name", "type"),
            ({"name": "x", "definition": PROBE, "more": 1}, "more", "unknown_field"),
            ([1], "", "type"),
        ],
    )
    async def test_invalid_bodies_are_refused(
        self, pipelines: PipelineHarness, body: Any, path: str, code: str
    ) -> None:
        assert (path, code) in issues(await pipelines.post("pipelines", body))

    async def test_lists_come_in_pages(self, pipelines: PipelineHarness) -> None:
        made = [await pipelines.create_pipeline() for _ in range(3)]
        await pipelines.create(f"pipelines/{made[1]}/archive")
        first = await pipelines.get("pipelines", limit=1)
        second = await pipelines.get("pipelines", limit=1, cursor=first["next_cursor"])
        shown = [each["id"] for each in first["pipelines"] + second["pipelines"]]
        assert shown == [made[2], made[0]]
        everything = await pipelines.get("pipelines", limit=100, include_archived="true")
        assert [each["id"] for each in everything["pipelines"][:3]] == made[::-1]
        assert everything["next_cursor"] is None

    @pytest.mark.spec("7")
    @pytest.mark.parametrize(
        "query", [{"limit": 0}, {"limit": 101}, {"cursor": "!"}, {"cursor": "YQ=="}]
    )
    async def test_invalid_limits_and_cursors_are_refused(
        self, pipelines: PipelineHarness, query: dict[str, Any]
    ) -> None:
        issues(await pipelines.app.client.get(f"{API}/pipelines", params=query))

    @pytest.mark.spec("7")
    @pytest.mark.parametrize(
        "path",
        [
            "pipelines",
            "pipelines/{}/versions",
            "pipeline-endpoints",
            "pipeline-runs",
            "pipeline-runs/{}/outputs/probe",
            "pipeline-batches",
            "pipeline-reviews",
        ],
    )
    async def test_lists_refuse_unknown_query_parameters(
        self, pipelines: PipelineHarness, path: str
    ) -> None:
        address = f"{API}/{path.format(NO_ID)}"
        query: dict[str, str | int] = {"limit": 1, "stauts": "failed"}
        answer = await pipelines.app.client.get(address, params=query)
        assert issues(answer) == {("stauts", "unknown_field")}

    @pytest.mark.spec("7")
    @pytest.mark.parametrize("path", ["metadata", "metadata/probe"])
    async def test_lists_of_a_file_refuse_unknown_query_parameters(
        self, pipelines: PipelineHarness, path: str
    ) -> None:
        address = f"{API}/files/{NO_ID}/{path}"
        body = refused(
            await pipelines.app.client.get(address, params={"page": 2}), 422, "invalid_request"
        )
        assert [(each["path"], each["code"]) for each in body["issues"]] == [
            ("page", "unknown_field")
        ]

    async def test_a_version_cursor_beyond_32_bits_is_only_a_large_number(
        self, pipelines: PipelineHarness
    ) -> None:
        pipeline, cursor = (
            await pipelines.create_pipeline(),
            urlsafe_b64encode(b"99999999999").decode(),
        )
        page = await pipelines.get(f"pipelines/{pipeline}/versions", cursor=cursor)
        assert [each["version"] for each in page["versions"]] == [1]


class TestVersions:
    @pytest.mark.spec("9")
    async def test_equal_definitions_are_one_version(self, pipelines: PipelineHarness) -> None:
        pipeline = await pipelines.create_pipeline()
        same = {"steps": {"look": {"type": "probe", "granularity": {"mode": "file"}}}}
        answer = await pipelines.post(f"pipelines/{pipeline}/versions", same)
        assert (answer.status_code, answer.json()["created"]) == (200, False)
        assert answer.json()["version"]["version"] == 1
        other = {"definition": {"steps": {"see": step("probe")}}}
        answer = await pipelines.post(f"pipelines/{pipeline}/versions", other)
        assert (answer.status_code, answer.json()["created"]) == (201, True)
        assert answer.json()["version"]["version"] == 2
        # Back to the first one: it is there already.
        assert (await pipelines.create(f"pipelines/{pipeline}/versions", PROBE))["version"][
            "version"
        ] == 1
        assert (await pipelines.get(f"pipelines/{pipeline}"))["latest_version"] == 2
        listed = await pipelines.get(f"pipelines/{pipeline}/versions")
        assert [each["version"] for each in listed["versions"]] == [2, 1]
        first = await pipelines.get(f"pipelines/{pipeline}/versions/1")
        assert first == listed["versions"][1]

    async def test_publishing_the_original_after_a_redaction_causes_a_warning(
        self, pipelines: PipelineHarness
    ) -> None:
        look, hide = step("probe"), step("redact_render", "look", with_={"kinds": ["face"]})
        unsaid = {"steps": {"look": look, "hide": hide, "out": step("publish", "hide")}}
        made = await pipelines.create("pipelines", {"name": "warned", "definition": unsaid})
        [warning] = made["warnings"]
        assert (warning["path"], warning["code"]) == ("steps.out.with.source", "original_published")
        assert '"redacted"' in warning["message"]
        versions = f"pipelines/{made['id']}/versions"
        again = await pipelines.create(versions, unsaid)
        assert (again["created"], again["warnings"]) == (False, [warning])
        for source, is_new in (("original", False), ("redacted", True)):
            out = step("publish", "hide", with_={"source": source})
            said = await pipelines.create(versions, {"steps": {**unsaid["steps"], "out": out}})
            assert (said["created"], said["warnings"]) == (is_new, [])

    @pytest.mark.spec("7")
    async def test_an_archived_pipeline_refuses_new_versions(
        self, pipelines: PipelineHarness
    ) -> None:
        pipeline = await pipelines.create_pipeline()
        await pipelines.create(f"pipelines/{pipeline}/archive")
        answer = await pipelines.post(f"pipelines/{pipeline}/versions", PROBE)
        refused(answer, 409, "pipeline_archived")

    @pytest.mark.spec("7")
    async def test_invalid_definitions_and_unknown_versions_are_refused(
        self, pipelines: PipelineHarness
    ) -> None:
        pipeline = await pipelines.create_pipeline()
        answer = await pipelines.post(f"pipelines/{pipeline}/versions", {"steps": {}})
        assert issues(answer, "invalid_definition") == {("steps", "empty")}
        for number in ("2", "0", "x", "9" * 30):
            answer = await pipelines.app.client.get(f"{API}/pipelines/{pipeline}/versions/{number}")
            refused(answer, 404, "pipeline_version_not_found")


class TestEndpoints:
    @pytest.mark.spec("2.11")
    async def test_the_secret_is_shown_once(self, pipelines: PipelineHarness) -> None:
        asked = {**ENDPOINT, "headers": {"Authorization": "Bearer x"}, "max_concurrency": 2}
        made = await pipelines.create("pipeline-endpoints", asked)
        assert made.pop("signing_secret").startswith("whsec_")
        assert made["headers"] == {"authorization": "***"}
        assert (made["timeout_ms"], made["callback_timeout_ms"]) == (30_000, 3_600_000)
        assert await pipelines.get(f"pipeline-endpoints/{made['id']}") == made

    @pytest.mark.spec("7", "8")
    @pytest.mark.parametrize(
        ("change", "path", "code"),
        [
            ({"url": None}, "url", "type"),
            ({"url": "http://93.184.215.14/"}, "url", "not_allowed"),
            ({"url": "https://10.0.0.1/"}, "url", "not_allowed"),
            ({"url": "https://" + "x" * 2048}, "url", "too_long"),
            ({"timeout_ms": 999}, "timeout_ms", "out_of_range"),
            ({"timeout_ms": 600_001}, "timeout_ms", "out_of_range"),
            ({"callback_timeout_ms": 999}, "callback_timeout_ms", "out_of_range"),
            ({"callback_timeout_ms": 2_592_000_001}, "callback_timeout_ms", "out_of_range"),
            ({"max_concurrency": 0}, "max_concurrency", "out_of_range"),
            ({"max_concurrency": 1025}, "max_concurrency", "out_of_range"),
            ({"max_concurrency": "8"}, "max_concurrency", "type"),
            ({"headers": {"Content-Type": "x"}}, "headers.Content-Type", "not_allowed"),
            ({"headers": {"Keep-Alive": "x"}}, "headers.Keep-Alive", "not_allowed"),
            ({"headers": {"Proxy-Anything": "x"}}, "headers.Proxy-Anything", "not_allowed"),
            ({"headers": {"webhook-id": "x"}}, "headers.webhook-id", "not_allowed"),
            ({"headers": {"x y": "x"}}, "headers.x y", "pattern"),
            ({"headers": {"x": "a\nb"}}, "headers.x", "pattern"),
            ({"headers": {"X": "a", "x": "b"}}, "headers.x", "duplicate"),
            ({"headers": {f"x{n}": "a" for n in range(17)}}, "headers", "too_many"),
            ({"headers": []}, "headers", "type"),
            ({"secret": "x"}, "secret", "unknown_field"),
        ],
    )
    async def test_invalid_endpoints_are_refused(
        self, pipelines: PipelineHarness, change: dict[str, Any], path: str, code: str
    ) -> None:
        answer = await pipelines.post("pipeline-endpoints", {**ENDPOINT, **change})
        assert issues(answer) == {(path, code)}
        assert answer.json()["message"].startswith(f"{path}: ")

    async def test_the_reason_why_a_url_is_refused_is_in_the_message(
        self, pipelines: PipelineHarness
    ) -> None:
        answer = await pipelines.post("pipeline-endpoints", {**ENDPOINT, "url": "http://1.1.1.1/"})
        assert "use https instead of http" in answer.json()["message"]

    async def test_archived_endpoints_are_listed_only_on_demand(
        self, pipelines: PipelineHarness
    ) -> None:
        made = [await pipelines.create("pipeline-endpoints", ENDPOINT) for _ in range(2)]
        archived = await pipelines.create(f"pipeline-endpoints/{made[1]['id']}/archive")
        assert archived["archived_at"]
        listed = await pipelines.get("pipeline-endpoints", limit=1)
        assert [each["id"] for each in listed["endpoints"]] == [made[0]["id"]]
        listed = await pipelines.get("pipeline-endpoints", limit=1, include_archived="true")
        assert listed["endpoints"] == [archived]

    @pytest.mark.spec("7")
    async def test_versions_refuse_unknown_and_archived_endpoints(
        self, pipelines: PipelineHarness
    ) -> None:
        endpoint = await pipelines.create("pipeline-endpoints", ENDPOINT)
        pipeline = await pipelines.create_pipeline(calling(endpoint["id"]))
        versions = f"pipelines/{pipeline}/versions"
        refused(await pipelines.post(versions, calling(NO_ID)), 404, "endpoint_not_found")
        await pipelines.create(f"pipeline-endpoints/{endpoint['id']}/archive")
        # The version that is there stays; a new one cannot name it.
        assert not (await pipelines.create(versions, calling(endpoint["id"])))["created"]
        other = {"steps": {**calling(endpoint["id"])["steps"], "look": step("probe")}}
        refused(await pipelines.post(versions, other), 409, "endpoint_archived")

    async def test_endpoints_of_other_organizations_are_refused(
        self, pipelines: PipelineHarness
    ) -> None:
        endpoint = await pipelines.create("pipeline-endpoints", ENDPOINT)
        other = AppHarness(
            pipelines.app.services, pipelines.app.asgi, key=await new_key(pipelines.app.services)
        )
        await enable_pipelines(other)
        body = {"name": "x", "definition": calling(endpoint["id"])}
        answer = await other.client.post(f"{API}/pipelines", json=body)
        refused(answer, 404, "endpoint_not_found")


ROUTES = [
    ("GET", "pipelines", None),
    ("POST", "pipelines", None),
    ("POST", "pipelines/validate", None),
    ("GET", "pipelines/{}", "pipeline_not_found"),
    ("DELETE", "pipelines/{}", "pipeline_not_found"),
    ("POST", "pipelines/{}/archive", "pipeline_not_found"),
    ("GET", "pipelines/{}/versions", "pipeline_not_found"),
    ("POST", "pipelines/{}/versions", "pipeline_not_found"),
    ("GET", "pipelines/{}/versions/1", "pipeline_not_found"),
    ("GET", "pipeline-endpoints", None),
    ("POST", "pipeline-endpoints", None),
    ("GET", "pipeline-endpoints/{}", "endpoint_not_found"),
    ("POST", "pipeline-endpoints/{}/archive", "endpoint_not_found"),
    ("GET", "pipeline-runs", None),
    ("POST", "pipeline-runs", None),
    ("GET", "pipeline-runs/{}", "pipeline_run_not_found"),
    ("GET", "pipeline-runs/{}/attempts", "pipeline_run_not_found"),
    ("POST", "pipeline-runs/{}/cancel", "pipeline_run_not_found"),
    ("POST", "pipeline-runs/{}/retry", "pipeline_run_not_found"),
    ("GET", "pipeline-runs/{}/outputs/look", "pipeline_run_not_found"),
    ("GET", "pipeline-batches", None),
    ("POST", "pipeline-batches", None),
    ("GET", "pipeline-batches/{}", "pipeline_batch_not_found"),
    ("POST", "pipeline-batches/{}/cancel", "pipeline_batch_not_found"),
    ("GET", "pipeline-reviews", None),
    ("GET", "pipeline-reviews/{}", "pipeline_review_not_found"),
    ("GET", "pipeline-reviews/{}/inputs", "pipeline_review_not_found"),
    ("POST", "pipeline-reviews/{}/links", "pipeline_review_not_found"),
    ("POST", "pipeline-reviews/{}/approve", "pipeline_review_not_found"),
    ("POST", "pipeline-reviews/{}/reject", "pipeline_review_not_found"),
    ("GET", "files/{}/metadata", "file_not_found"),
    ("GET", "files/{}/metadata/look", "file_not_found"),
]


@pytest.mark.spec("5", "7")
@pytest.mark.parametrize(("method", "path", "error"), ROUTES)
class TestEveryRoute:
    async def test_routes_are_404_until_pipelines_are_enabled(
        self, pipelines: PipelineHarness, method: str, path: str, error: str | None
    ) -> None:
        other = AppHarness(
            pipelines.app.services, pipelines.app.asgi, key=await new_key(pipelines.app.services)
        )
        address = f"{API}/{path.format(NO_ID)}"
        answer = await other.client.request(method, address, json=PROBE)
        body = refused(answer, 404, "not_found")
        assert body["message"] == f"there is nothing at {address}"

    async def test_requires_a_key(
        self, pipelines: PipelineHarness, method: str, path: str, error: str | None
    ) -> None:
        address = f"{API}/{path.format(NO_ID)}"
        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(pipelines.app.asgi), base_url="http://kiln.test"
        ) as client:
            refused(await client.request(method, address), 401, "unauthorized")

    async def test_unknown_ids_are_404(
        self, pipelines: PipelineHarness, method: str, path: str, error: str | None
    ) -> None:
        for unknown in (NO_ID, "x"):
            if error is None:
                continue
            body = PROBE if path.endswith("versions") else {}
            address = f"{API}/{path.format(unknown)}"
            answer = await pipelines.app.client.request(method, address, json=body)
            refused(answer, 404, error)
