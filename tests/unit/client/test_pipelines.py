"""Pipelines through the client: pages, names, keys, and what is tried again."""

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import httpx
import pytest

from framekiln.client import Client
from framekiln.client.errors import NoSuchPipeline, ServiceRefused, ServiceUnreachable
from tests.unit.client.scripted_service import ScriptedService, pipeline, run, step

API = "/api/v1"
LOST = httpx.ReadError("lost")
VERSION = {"pipeline_id": "p", "version": 1, "digest": "sha256:0", "created_at": "2026-01-01"}
ENDPOINT = {"id": "e", "url": "https://example.com", "archived_at": None}
BATCH = {"id": "b", "status": "running"}
REVIEW = {"id": "v", "run_id": "r", "step_key": "check", "status": "approved"}


def page(name: str, *items: Any, cursor: str | None = None) -> dict[str, Any]:
    return {name: list(items), "next_cursor": cursor}


def test_pages_are_requested_lazily() -> None:
    service = ScriptedService(
        page("runs", run("failed", id="1"), run("failed", id="2"), cursor="next="),
        page("runs", run("failed", id="3")),
    )
    found = service.client.runs.list(status="failed", limit=2, file_id=None)
    assert [next(found).id, next(found).id] == ["1", "2"]
    assert service.lines == [f"GET {API}/pipeline-runs?status=failed&limit=2"]
    assert [each.id for each in found] == ["3"]
    assert service.lines[1:] == [f"GET {API}/pipeline-runs?status=failed&limit=2&cursor=next%3D"]


def test_a_pipeline_is_found_by_name_on_any_page_or_by_id() -> None:
    service = ScriptedService(
        page("pipelines", pipeline("a", "1"), cursor="n"), page("pipelines", pipeline("b", "2"))
    )
    assert service.client.pipelines.find("b").id == "2"
    service = ScriptedService(pipeline("b"))
    pipeline_id = str(uuid4())
    service.client.pipelines.find(pipeline_id)
    assert service.lines == [f"GET {API}/pipelines/{pipeline_id}"]
    with pytest.raises(NoSuchPipeline, match="'c'"):
        ScriptedService(page("pipelines", pipeline("b"))).client.pipelines.find("c")


def test_repeated_requests_start_one_run() -> None:
    answer = {**run("pending"), "run": run("pending"), "created": False}
    service = ScriptedService(LOST, (503, {}), answer)
    found, is_new = service.client.runs.create("p", "f", version=2)
    assert (found.id, is_new) == ("r", False)
    assert service.body() == {"pipeline_id": "p", "file_id": "f", "version": 2}
    [key] = {each.headers["idempotency-key"] for each in service.requests}
    other = ScriptedService(answer)
    other.client.runs.create("p", "f")
    assert other.requests[0].headers["idempotency-key"] != key
    own = ScriptedService(answer)
    own.client.runs.create("p", "f", idempotency_key="order-42")
    assert own.requests[0].headers["idempotency-key"] == "order-42"


@pytest.mark.parametrize("status", ["succeeded", "failed", "filtered", "cancelled"])
def test_waiting_for_a_run_ends_in_every_terminal_state(status: str) -> None:
    seen: list[str] = []
    service = ScriptedService(
        run("pending"), run("running"), LOST, run("running"), run("running"), run(status)
    )
    assert service.client.runs.wait("r", lambda each: seen.append(each.status)).status == status
    assert seen == ["pending", "running", "running", "running", status]
    # Looked at less and less often while nothing happens; the third pause is that of a lost answer.
    first, second, _, third, fourth = service.pauses_s
    assert first == second < third < fourth


def test_a_run_has_its_steps() -> None:
    error = {"code": "decode_failed", "message": "no frames"}
    fields = run("failed", step("look", "succeeded"), step("see", "failed", error=error, attempt=3))
    found = ScriptedService(fields).client.runs.get("r")
    assert [(each.key, each.status, each.attempt) for each in found.steps] == [
        ("look", "succeeded", 1),
        ("see", "failed", 3),
    ]
    assert found.steps[1].error == error


@pytest.mark.parametrize(
    ("ask", "answer"),
    [
        (lambda client: client.pipelines.archive("p"), pipeline("a")),
        (
            lambda client: client.pipelines.create_version("p", {}),
            {"version": VERSION, "created": False},
        ),
        (lambda client: client.endpoints.archive("e"), ENDPOINT),
        (lambda client: client.runs.cancel("r"), run("cancelled")),
        (lambda client: client.reviews.approve("v"), REVIEW),
        (lambda client: client.reviews.reject("v"), REVIEW),
        (lambda client: client.batches.create("p", ["f"]), {"batch": BATCH, "created": True}),
    ],
)
def test_idempotent_requests_are_retried(
    ask: Callable[[Client], Any], answer: dict[str, Any]
) -> None:
    service = ScriptedService(LOST, answer)
    ask(service.client)
    assert len(service.requests) == 2


@pytest.mark.parametrize(
    "ask",
    [
        lambda client: client.pipelines.create("name", {}),
        lambda client: client.endpoints.create("https://example.com"),
        lambda client: client.runs.retry("r"),
    ],
)
def test_other_requests_are_not_retried(ask: Callable[[Client], Any]) -> None:
    service = ScriptedService(LOST)
    with pytest.raises(ServiceUnreachable):
        ask(service.client)
    assert len(service.requests) == 1


def test_decisions_send_only_the_given_fields() -> None:
    service = ScriptedService(REVIEW, REVIEW, REVIEW, REVIEW)
    reviews = service.client.reviews
    reviews.approve("v")
    reviews.approve("v", {"annotations": []})
    reviews.reject("v")
    reviews.reject("v", "too loud")
    assert [service.body(number) for number in range(4)] == [
        {},
        {"metadata_patch": {"annotations": []}},
        {},
        {"reason": "too loud"},
    ]
    assert service.lines[1::2] == [
        f"POST {API}/pipeline-reviews/v/approve",
        f"POST {API}/pipeline-reviews/v/reject",
    ]


def test_a_batch_has_one_run_for_each_file() -> None:
    service = ScriptedService({"batch": BATCH, "created": True}, {**BATCH, "batch": BATCH})
    batch, is_new = service.client.batches.create("p", ["f", "g"], max_in_flight=3)
    assert is_new
    runs = [{"file_id": "f"}, {"file_id": "g"}]
    assert service.body() == {"pipeline_id": "p", "runs": runs, "max_in_flight": 3}
    assert service.client.batches.get("b") == batch


def test_warnings_are_returned_with_the_created_object() -> None:
    warning = {"path": "steps.out.with.source", "code": "original_published", "message": "m"}
    made = ScriptedService({**pipeline("a"), "warnings": [warning]}).client.pipelines.create(
        "a", {}
    )
    assert made.warnings == (warning,)
    answer = {"version": VERSION, "created": True, "warnings": [warning]}
    version, _ = ScriptedService(answer).client.pipelines.create_version("p", {})
    assert version.warnings == (warning,)
    # A service of an older version says nothing.
    assert ScriptedService(pipeline("a")).client.pipelines.get("p").warnings == ()


def test_secrets_are_not_in_the_repr() -> None:
    made = ScriptedService({**ENDPOINT, "signing_secret": "whsec_x"}).client.endpoints.create(
        "https://e.com"
    )
    assert made.signing_secret == "whsec_x"
    assert "whsec_x" not in repr(made)
    assert ScriptedService(ENDPOINT).client.endpoints.get("e").signing_secret is None


def test_outputs_and_metadata_of_a_file_are_ordered() -> None:
    outputs = [{"window": {"index": number}, "output": {}} for number in range(3)]
    service = ScriptedService(
        page("outputs", *outputs[:2], cursor="c"), page("outputs", outputs[2])
    )
    assert list(service.client.runs.outputs("r", "frames")) == outputs
    assert service.lines[0] == f"GET {API}/pipeline-runs/r/outputs/frames"
    service = ScriptedService(page("namespaces", {"namespace": "look"}), page("outputs", *outputs))
    assert list(service.client.files.namespaces("f")) == [{"namespace": "look"}]
    assert list(service.client.files.metadata("f", "look")) == outputs
    assert service.lines == [f"GET {API}/files/f/metadata", f"GET {API}/files/f/metadata/look"]


def test_a_single_issue_without_words_has_those_of_the_response() -> None:
    issues = [{"path": "url", "code": "not_allowed"}]
    answer = {"error": "invalid_request", "message": "url: use https", "issues": issues}
    with pytest.raises(ServiceRefused, match=r"^url: use https \(422\)$"):
        ScriptedService((422, answer)).client.endpoints.create("http://a.example/")


def test_issues_are_shown_with_their_messages() -> None:
    issues = [{"path": "fps", "code": "out_of_range", "message": "must be at least 1"}]
    answer = {"error": "invalid_request", "message": "fps: no", "issues": issues}
    with pytest.raises(ServiceRefused, match=r"^fps: must be at least 1 \(400\)$"):
        ScriptedService((400, answer)).client.renders.create(html="", fps=0)


def test_every_issue_is_in_the_message() -> None:
    issues = [{"path": "steps.a.type", "code": "unknown"}, {"path": "", "code": "type"}]
    answer = {"error": "invalid_definition", "message": "and one more", "issues": issues}
    with pytest.raises(ServiceRefused, match=r"^steps.a.type: unknown; body: type \(422\)$"):
        ScriptedService((422, answer)).client.pipelines.create("a", {})
