"""The guide of the Python client as it stands, and the commands that came with it."""

import inspect
import io
import re
import time
from collections.abc import Iterator
from contextlib import redirect_stdout
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from standardwebhooks import Webhook

from framekiln.client import Client
from framekiln.client.operations import Listing, Operation
from tests.e2e.conftest import Terminal
from tests.support.clips import Clip, make_clip
from tests.support.looks import decode_frames
from tests.support.pipelines import step
from tests.support.receiver import Answer, Receiver
from tests.support.service import POLL_S, Account
from tests.support.timeouts import TIMEOUT_S

GUIDE = Path(__file__).parents[2] / "docs" / "howto" / "python-client.md"
FILM = Clip(duration_s=Fraction(3), keyframe_every=30)


@pytest.fixture
def endpoint_receiver() -> Iterator[Receiver]:
    with Receiver() as receiver:
        yield receiver


def test_the_examples_of_the_guide_work(
    account: Account, endpoint_receiver: Receiver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, value in account.environment.items():
        monkeypatch.setenv(name, value)
    make_clip(tmp_path / "film.mp4", FILM)
    blocks = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    program = "\n".join(blocks)
    assert "https://hooks.example.com/framekiln" in program
    program = program.replace("https://hooks.example.com/framekiln", endpoint_receiver.url())
    written = io.StringIO()
    names: dict[str, object] = {}
    with redirect_stdout(written):
        exec(compile(program, str(GUIDE), "exec"), names)
    client = names["client"]
    assert isinstance(client, Client)
    client.close()
    lines = written.getvalue().splitlines()
    assert len(decode_frames(tmp_path / "hello.mp4")) == 5
    assert any(line.startswith("complete ") for line in lines)
    # The colour is in the style sheet beside the page.
    card = decode_frames(tmp_path / "card.mp4")
    assert len(card) == 2
    assert card[0].rgb[-5, -5].argmax() == 2
    assert len(decode_frames(tmp_path / "ada.mp4")) == 10
    assert "ready 1.0" in lines
    assert [line.split()[:3] for line in lines if line.startswith(("1 Ada", "2 Grace"))] == [
        ["1", "Ada", "ready"],
        ["2", "Grace", "ready"],
    ]
    assert (tmp_path / "videos.zip").stat().st_size > 0
    assert "with asyncio: ready film.mp4" in lines
    assert "succeeded {'facts': 'succeeded', 'check': 'succeeded', 'out': 'succeeded'}" in lines
    assert any(line.startswith(f"{account.url}/") and ".m3u8" in line for line in lines)
    assert "succeeded 3 windows" in lines
    assert "render.completed is on its way to 1 webhook" in lines
    assert lines[-1].startswith("404 file_not_found ")


def test_the_guide_names_every_method() -> None:
    rows = re.findall(r"^\| `client\.(\w+)` \| (.+) \|$", GUIDE.read_text(), re.MULTILINE)
    documented = {part: set(re.findall(r"`(\w+)`", methods)) for part, methods in rows}
    with Client("http://127.0.0.1:9", "key") as client:
        there = {
            name: {
                each
                for each, method in inspect.getmembers(type(part))
                if isinstance(method, Operation | Listing)
            }
            for name, part in vars(client).items()
            if type(part).__name__.startswith("Remote")
        }
    assert documented == there


def test_links_are_managed_at_the_command_line(terminal: Terminal) -> None:
    address = "/api/v1/transcode/manifest.m3u8?url=https%3A%2F%2Fcdn.example%2Ffilm.mp4"
    made = terminal.ask("link", address, "--expires-in", "7d")
    assert made["url"].endswith("/manifest.m3u8")
    # The guide has made one, too.
    assert terminal.ask("links", "list")[0]["id"] == made["id"]
    terminal.type("links", "revoke", made["id"])
    [revoked, *_] = terminal.ask("links", "list")
    assert (revoked["address"], revoked["revoked_at"] is None) == (address, False)


def test_webhooks_are_managed_at_the_command_line(
    terminal: Terminal, endpoint_receiver: Receiver
) -> None:
    topics = {each["topic"] for each in terminal.ask("webhooks", "topics")}
    assert {"webhook.test", "pipeline_run.completed"} <= topics
    # Files of the guide may become ready later.
    event = "transcription.failed"
    create = ("webhooks", "create", endpoint_receiver.url("/hook"), "--event", event)
    made = terminal.ask(*create, "--event", "render.*")
    assert made["secret"].startswith("whsec_")
    assert (made["events"], made["api_key_id"]) == ([event, "render.*"], None)
    [trial] = endpoint_receiver.wait_for(1)
    Webhook(made["secret"]).verify(trial.body, dict(trial.headers))
    # One that is never taken, however often it is sent, so that there is something to look at.
    endpoint_receiver.answer(Answer(500))
    command = terminal.type("webhooks", "test", "render.completed")
    assert command.stdout == "render.completed is on its way to 1 webhook\n"
    endpoint_receiver.wait_for(2)
    newest = _newest(terminal, made["id"])
    assert (newest["topic"], newest["last_attempt"]["status"]) == ("render.completed", 500)
    table = terminal.type("webhooks", "deliveries", "list", made["id"], "--limit", "1")
    assert "answered with status 500" in table.stdout
    again = terminal.ask("webhooks", "deliveries", "redeliver", newest["id"])
    endpoint_receiver.wait_for(3)
    first, second = endpoint_receiver.requests[1:3]
    assert first.body == second.body
    shown = terminal.type("webhooks", "deliveries", "get", again["id"]).stdout
    assert first.body.decode() in shown
    endpoint_receiver.answer(Answer())
    changed = terminal.ask("webhooks", "update", made["id"], "--event", "file.failed")
    assert (changed["events"], changed["url"]) == (["file.failed"], made["url"])
    rotated = terminal.type("webhooks", "rotate-secret", made["id"])
    assert rotated.stdout.splitlines()[-1].startswith("whsec_")
    assert terminal.ask("webhooks", "resume", made["id"])["state"] == "active"
    assert terminal.ask("webhooks", "get", made["id"])["id"] == made["id"]
    assert made["id"] in terminal.type("webhooks", "list").stdout
    own = terminal.ask(*create, "--own-key")
    assert own["api_key_id"] is not None
    for each in (made, own):
        assert terminal.type("webhooks", "delete", each["id"]).exit_code == 0
    assert terminal.ask("webhooks", "list") == []
    for wrong in (
        ("webhooks", "create", endpoint_receiver.url()),
        ("webhooks", "update", made["id"]),
    ):
        refused = terminal.type(*wrong)
        assert (refused.exit_code, refused.stdout) == (1, "")


def _newest(terminal: Terminal, webhook_id: str) -> dict[str, Any]:
    deadline = time.monotonic() + TIMEOUT_S
    while time.monotonic() < deadline:
        [newest, *_] = terminal.ask("webhooks", "deliveries", "list", webhook_id)
        if newest["last_attempt"] is not None:
            return dict(newest)
        time.sleep(POLL_S)
    raise AssertionError("nothing was sent")


def test_an_upload_starts_its_run(terminal: Terminal, tmp_path: Path) -> None:
    film = make_clip(tmp_path / "film.mp4", FILM)
    granularity = {"mode": "segment", "window_ms": 1000}
    terminal.pipeline("uploaded", cuts=step("detect_scenes", granularity=granularity))
    streamed = terminal.type("upload", str(film), "--stream", "--run", "uploaded", "--watch")
    assert streamed.exit_code == 0, streamed.output
    file_line, run_line = streamed.stdout.splitlines()
    assert run_line.split()[1] == "succeeded"
    assert "cuts detect_scenes  succeeded" in streamed.stderr
    run = terminal.ask("runs", "get", run_line.split()[0])
    assert run["file_id"] == file_line.split()[0]
    # It was begun before the file was there.
    resume = ("--resume", run["file_id"])
    file = terminal.ask("upload", str(film), "--stream", *resume, "--wait")
    assert run["created_at"] < file["completed_at"]
    whole = ("upload", str(film), "--run", "uploaded")
    first, again = terminal.ask(*whole), terminal.ask(*whole, "--watch")
    assert (first["id"], again["status"]) == (again["id"], "succeeded")
    assert first["file_id"] != run["file_id"]
    nowhere = terminal.type("upload", str(film), "--run", "no such pipeline")
    assert (nowhere.exit_code, nowhere.stdout) == (1, "")
    assert terminal.type("upload", str(film), "--watch").exit_code == 1
    assert again["pipeline_id"] == run["pipeline_id"]
