"""Pipelines at the command line, against a whole service: a film is looked at, reviewed, shown."""

import json
import time
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from framekiln.cli.program import app
from tests.e2e.conftest import Terminal
from tests.support.pipelines import step
from tests.support.service import POLL_S, Service
from tests.support.timeouts import TIMEOUT_S

SHORT = {"path": "look.metadata.duration_ms", "op": "lt", "value": 60_000}


@pytest.fixture
def film(flash_clip: Path) -> Path:
    return flash_clip


def test_a_run_is_followed_to_its_end(terminal: Terminal, film: Path) -> None:
    terminal.pipeline("short films", look=step("probe"), short=step("filter", "look", when=SHORT))
    result = terminal.type("runs", "create", "short films", str(film), "--watch")
    assert result.exit_code == 0, result.output
    run_id, status = result.stdout.split()
    assert status == "succeeded"
    assert result.stderr.endswith("\n")
    tree = [line.partition("── ")[2].split() for line in result.stderr.splitlines()]
    assert [words[:3] for words in tree if words] == [
        ["look", "probe", "succeeded"],
        ["short", "filter", "succeeded"],
    ]
    # The same film is not sent again, and the same key is the same run.
    again = ("runs", "create", "short films", str(film), "--idempotency-key", "one")
    first, second = terminal.ask(*again), terminal.ask(*again)
    assert first["id"] == second["id"] != run_id
    shown = terminal.ask("runs", "get", run_id)
    assert first["file_id"] == shown["file_id"]
    [output] = terminal.ask("runs", "outputs", run_id, "look")
    assert output["output"]["metadata"]["width"] == 320
    assert {
        each["id"] for each in terminal.ask("runs", "list", "--pipeline-id", "short films")
    } == {
        run_id,
        first["id"],
    }


def test_the_exit_code_depends_on_the_end_of_a_run(terminal: Terminal, film: Path) -> None:
    never = {"path": "look.metadata.duration_ms", "op": "lt", "value": 0}
    terminal.pipeline("never", look=step("probe"), short=step("filter", "look", when=never))
    result = terminal.type("runs", "create", "never", str(film), "--watch", "--json")
    assert (result.exit_code, json.loads(result.stdout)["status"]) == (3, "filtered")
    terminal.pipeline("waits", ok=step("review", with_={"instructions": "May it be shown?"}))
    run = terminal.ask("runs", "create", "waits", str(film))
    assert terminal.ask("runs", "cancel", run["id"])["status"] == "cancelled"
    assert terminal.type("runs", "get", run["id"], "--watch").exit_code == 4
    result = terminal.type("runs", "cancel", json.loads(result.stdout)["id"])
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("error: ")


def test_reviews_are_listed_and_decided(terminal: Terminal, film: Path) -> None:
    terminal.pipeline(
        "reviewed",
        ok=step("review", with_={"instructions": "May it be shown?"}),
        out=step("publish", "ok"),
    )
    runs = [terminal.ask("runs", "create", "reviewed", str(film)) for _ in range(2)]
    yes, no = (_pending(terminal, run["id"]) for run in runs)
    assert terminal.ask("reviews", "get", yes)["run_id"] == runs[0]["id"]
    shared = terminal.ask("reviews", "link", yes, "--expires-in", "2h")
    assert [each["id"] for each in terminal.ask("links", "list")] == [shared["id"]]
    assert terminal.type("reviews", "link", yes).stdout.startswith("http")
    patch = terminal.write("patch.json", {"annotations": [], "reviewed_kinds": ["face"]})
    approved = terminal.ask("reviews", "approve", yes, "--patch", patch)
    assert approved["metadata_patch"]["reviewed_kinds"] == ["face"]
    assert terminal.ask("reviews", "reject", no, "--reason", "too loud")["status"] == "rejected"
    ends = [terminal.type("runs", "get", run["id"], "--watch") for run in runs]
    assert [each.exit_code for each in ends] == [0, 3]


def test_versions_and_endpoints_are_created_and_listed(terminal: Terminal) -> None:
    headers = ("--header", "X-Team: films", "--timeout-ms", "2000", "--max-concurrency", "3")
    made = terminal.ask("pipelines", "endpoints", "create", "http://127.0.0.1:9/", *headers)
    assert made["signing_secret"].startswith("whsec_")
    assert made["headers"] == {"x-team": "***"}
    assert (made["timeout_ms"], made["max_concurrency"]) == (2000, 3)
    pipeline = terminal.pipeline("asks", look=step("probe"))
    asks = {"ask": step("endpoint", with_={"endpoint_id": made["id"]})}
    definition = terminal.write("second.json", {"steps": asks})
    add = ("pipelines", "versions", "create", "asks", "--definition", definition)
    assert [terminal.ask(*add)["created"] for _ in range(2)] == [True, False]
    listed = terminal.ask("pipelines", "versions", "list", pipeline["id"])
    assert [each["version"] for each in listed] == [2, 1]
    assert "endpoint" in terminal.type("pipelines", "get", "asks").stdout
    assert "probe" in terminal.type("pipelines", "versions", "get", "asks", "1").stdout
    assert terminal.ask("pipelines", "endpoints", "archive", made["id"])["archived_at"]
    assert terminal.ask("pipelines", "endpoints", "list") == []
    assert terminal.ask("pipelines", "archive", "asks")["archived_at"]
    assert "asks" not in terminal.type("pipelines", "list").stdout
    assert "asks" in terminal.type("pipelines", "list", "--archived").stdout
    assert terminal.type("runs", "create", "asks", made["id"]).exit_code == 1


def test_every_issue_of_a_definition_is_named(terminal: Terminal) -> None:
    steps = {"a": step("paint"), "b": step("probe", "c")}
    definition = terminal.write("wrong.json", {"steps": steps})
    result = terminal.type("pipelines", "create", "wrong", "--definition", definition)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "steps.a.type: " in result.stderr
    assert "steps.b.needs.0: " in result.stderr


def test_publishing_the_original_after_a_redaction_causes_a_warning(terminal: Terminal) -> None:
    hide = step("redact_render", "look", with_={"kinds": ["face"]})
    steps = {"look": step("probe"), "hide": hide, "out": step("publish", "hide")}
    definition = terminal.write("w.json", {"steps": steps})
    made = terminal.type("pipelines", "create", "warned", "--definition", definition)
    added = terminal.type("pipelines", "versions", "create", "warned", "--definition", definition)
    for result in (made, added):
        assert result.exit_code == 0, result.output
        assert result.stderr.startswith("warning: steps.out.with.source: ")
    version = terminal.ask("pipelines", "versions", "create", "warned", "--definition", definition)
    assert [each["code"] for each in version["warnings"]] == ["original_published"]


def test_a_batch_reports_its_runs(terminal: Terminal, film: Path, tmp_path: Path) -> None:
    terminal.pipeline("batched", look=step("probe"))
    file_id = terminal.ask("upload", str(film), "--wait")["id"]
    other = tmp_path / "other.mp4"
    other.write_bytes(film.read_bytes() + b"\0\0\0\x08free")
    made = terminal.ask("batches", "create", "batched", file_id, str(other), "--max-in-flight", "1")
    assert made["run_count"] == 2
    for run in terminal.ask("runs", "list", "--batch-id", made["id"]):
        terminal.type("runs", "get", run["id"], "--watch")
    output = terminal.type("batches", "get", made["id"]).stdout
    assert "completed  2 runs: 2 succeeded, 0 failed" in output
    assert [each["id"] for each in terminal.ask("batches", "list")] == [made["id"]]


@pytest.mark.usefixtures("own_sigterm")
def test_commands_without_a_key_leave_one_row_at_most(shared_service: Service, film: Path) -> None:
    """It was a revoked key for every command."""
    local = {
        "FRAMEKILN_BASE_URL": shared_service.url,
        "FRAMEKILN_API_KEY": None,
        "FRAMEKILN_DATA": str(shared_service.data),
    }

    def type_(*words: str) -> Any:
        result = CliRunner().invoke(app, [*words, "--json"], env=local)
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)

    before = type_("keys", "list")
    type_("upload", str(film))
    type_("pipelines", "list")
    file = type_("upload", str(film), "--wait")
    assert file["status"] == "ready"
    (temporary,) = [key for key in type_("keys", "list") if key not in before]
    assert temporary["revoked_at"] is not None


def _pending(terminal: Terminal, run_id: str) -> str:
    deadline = time.monotonic() + TIMEOUT_S
    while time.monotonic() < deadline:
        found = terminal.ask("reviews", "list", "--status", "pending", "--run-id", run_id)
        if found:
            return str(found[0]["id"])
        time.sleep(POLL_S)
    raise AssertionError("no review was opened")
