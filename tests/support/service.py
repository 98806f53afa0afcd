"""The whole service as a user starts it: `framekiln serve` in its own folder."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

import httpx
from typer.testing import CliRunner

from framekiln.cli.confinement import missing_for_service
from framekiln.cli.program import app
from tests.support.ports import ReservedPort
from tests.support.timeouts import GENEROUS_SETTINGS, TIMEOUT_S

API_KEY = "ef_e2esecret_e2ekey"
POLL_S = 0.2
Found = TypeVar("Found")


@cache
def confinement_settings() -> dict[str, str]:
    """Return what lets a service run on a machine that cannot confine; usually nothing."""
    return {"FRAMEKILN_ALLOW_UNCONFINED": "1"} if missing_for_service() else {}


class Account:
    """An organization on a running service, and one of its keys."""

    def __init__(self, service: "Service", api_key: str, *, name: str = "default") -> None:
        self.service = service
        self.name = name
        self.url = service.url
        self.api_key = api_key
        self.http = httpx.Client(
            base_url=self.url, headers={"Authorization": f"Bearer {api_key}"}, timeout=TIMEOUT_S
        )

    def login_link(self, role: str = "member") -> str:
        """Create a user of the organization and return a link that logs in."""
        email = f"{uuid4()}@example.org"
        self.service.command("users", "create", email, "--org", self.name, "--role", role)
        return str(self.service.command("users", "login-link", email)["url"])

    @property
    def environment(self) -> dict[str, str]:
        """Return the environment variables for programs that use the service."""
        return {"FRAMEKILN_BASE_URL": self.url, "FRAMEKILN_API_KEY": self.api_key}


class Service:
    """A service and its child processes; it can be stopped and restarted."""

    def __init__(self, folder: Path, **environment: str) -> None:
        # Reserved also while the service is stopped and restarted.
        self._port = ReservedPort()
        self.folder = folder
        self.data = folder / "data"
        self.url = f"http://127.0.0.1:{self._port.number}"
        self.log = folder / "serve.log"
        self._environment = {
            "FRAMEKILN_PORT": str(self._port.number),
            "FRAMEKILN_DATA": str(self.data),
            "FRAMEKILN_API_KEY": API_KEY,
            **GENEROUS_SETTINGS,
            # Tests that make a page twice want it made twice.
            "FRAMEKILN_REUSE_PAGES": "0",
            **environment,
        }
        self._process: subprocess.Popen[bytes] | None = None
        self.http = Account(self, API_KEY).http

    @property
    def process(self) -> subprocess.Popen[bytes]:
        """The process of `framekiln serve`."""
        assert self._process is not None, "the service is not running"
        return self._process

    def start(self) -> None:
        """Start the service and wait until it is ready."""
        with self.log.open("ab") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "framekiln", "serve"],
                env={**os.environ, **confinement_settings(), **self._environment},
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        self.wait_ready()

    def stop(self) -> None:
        """Stop the service with SIGTERM, as `kill` does; no effect if it is not running."""
        if self._process is None:
            return
        process, self._process = self._process, None
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise

    @contextmanager
    def open_account(self, name: str) -> Iterator[Account]:
        """Create an organization, so that its lists contain nothing of other tests."""
        name = f"{name} {uuid4()}"
        self.command("orgs", "create", name, "--pipelines")
        key = self.command("keys", "create", "--org", name)["api_key"]
        account = Account(self, key, name=name)
        try:
            yield account
        finally:
            account.http.close()

    def create_render(self, **body: Any) -> str:
        """Create a render and return its id."""
        answer = self.http.post("/api/v1/renders", json=body)
        assert answer.status_code == 201, answer.text
        return str(answer.json()["id"])

    def render_info(self, render_id: str) -> dict[str, Any] | None:
        """Return a render as the service shows it; None while the service does not respond."""
        try:
            answer = self.http.get(f"/api/v1/renders/{render_id}")
        except httpx.TransportError:
            return None
        return dict(answer.json()) if answer.status_code == 200 else None

    def wait_ended(self, render_id: str) -> dict[str, Any]:
        """Poll until the render is complete or has failed, and return it."""

        def ended() -> dict[str, Any] | None:
            info = self.render_info(render_id)
            return info if info and info["status"] in ("complete", "failed") else None

        return self.wait_for(ended, f"render {render_id} has not ended")

    def download(self, render_id: str, path: Path) -> Path:
        """Download the output of a finished render."""
        answer = self.http.get(f"/api/v1/renders/{render_id}.mp4")
        assert answer.status_code == 200, answer.text
        path.write_bytes(answer.content)
        return path

    def wait_ready(self) -> None:
        """Poll /readyz until its status is 200."""

        def is_ready() -> bool:
            assert self.process.poll() is None, f"serve ended:\n{self.log_tail()}"
            with suppress(httpx.TransportError):
                return self.http.get("/readyz").status_code == 200
            return False

        self.wait_for(is_ready, "the service is not ready")

    def wait_for(self, ask: Callable[[], Found | None], message: str) -> Found:
        """Poll until the result is true, and return it."""
        deadline = time.monotonic() + TIMEOUT_S
        while not (found := ask()):
            assert time.monotonic() < deadline, f"{message}; log:\n{self.log_tail()}"
            time.sleep(POLL_S)
        return found

    def kill(self, *words: str) -> None:
        """Send SIGKILL to the process with these words; wait for it if it is just restarting."""

        def kill() -> bool:
            with suppress(AssertionError, ProcessLookupError):
                os.kill(self.find_process(*words), signal.SIGKILL)
                return True
            return False

        self.wait_for(kill, f"no process with {words}")

    def find_process(self, *words: str) -> int:
        """Return the process of this service whose command line has all the words."""
        found = self.find_processes(*words)
        assert found, f"no process with {words}"
        return found[0]

    def find_processes(self, *words: str) -> list[int]:
        """Return the processes of this service whose command lines have all the words."""
        commands = {pid: _command_line(pid) for pid in self.process_tree()}
        return [pid for pid, text in commands.items() if all(word in text for word in words)]

    def process_tree(self) -> list[int]:
        """Return all processes below `serve`, itself first."""
        children: dict[int, list[int]] = {}
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            children.setdefault(int(fields[1]), []).append(int(entry.name))
        found = [self.process.pid]
        for pid in found:
            found += children.get(pid, [])
        return found

    def log_tail(self) -> str:
        """Return the end of the service's log."""
        return self.log.read_text(errors="replace")[-4000:]

    def command(self, *words: str) -> dict[str, Any]:
        """Run a command on the data of this service, in this process; return its JSON."""
        result = CliRunner().invoke(app, [*words, "--json"], env=self._environment)
        assert result.exit_code == 0, result.output
        return dict(json.loads(result.stdout))


@contextmanager
def running_service(folder: Path, **environment: str) -> Iterator[Service]:
    """Start the service, wait until it is ready, and stop it with SIGTERM."""
    service = Service(folder, **environment)
    try:
        service.start()
        yield service
    finally:
        service.http.close()
        service.stop()


def _command_line(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""
