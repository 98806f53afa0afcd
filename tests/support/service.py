"""The whole service as a user starts it: `framekiln serve` in a folder of its own."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

API_KEY = "ef_e2esecret_e2ekey"


class Service:
    """A running service and the processes below it."""

    def __init__(self, process: subprocess.Popen[bytes], url: str, log: Path) -> None:
        self.process = process
        self.url = url
        self.log = log
        self.http = httpx.Client(
            base_url=url, headers={"Authorization": f"Bearer {API_KEY}"}, timeout=30
        )

    def create_render(self, **body: Any) -> str:
        """Ask for a render and return its id."""
        answer = self.http.post("/api/v1/renders", json=body)
        assert answer.status_code == 201, answer.text
        return str(answer.json()["id"])

    def render_info(self, render_id: str) -> dict[str, Any] | None:
        """Return what the service says of a render; None while it does not answer."""
        try:
            answer = self.http.get(f"/api/v1/renders/{render_id}")
        except httpx.TransportError:
            return None
        return dict(answer.json()) if answer.status_code == 200 else None

    def wait_for_status(self, render_id: str, *statuses: str, within_s: float) -> dict[str, Any]:
        """Poll until the render is in one of the states."""
        deadline = time.monotonic() + within_s
        while time.monotonic() < deadline:
            info = self.render_info(render_id)
            if info is not None and info["status"] in statuses:
                return info
            time.sleep(0.2)
        raise AssertionError(f"still {self.render_info(render_id)}; log:\n{self.log_tail()}")

    def download(self, render_id: str, path: Path) -> Path:
        """Fetch the output of a finished render."""
        answer = self.http.get(f"/api/v1/renders/{render_id}.mp4")
        assert answer.status_code == 200, answer.text
        path.write_bytes(answer.content)
        return path

    def wait_ready(self, *, within_s: float) -> None:
        """Poll /readyz until it says 200."""
        deadline = time.monotonic() + within_s
        while time.monotonic() < deadline:
            try:
                if self.http.get("/readyz").status_code == 200:
                    return
            except httpx.TransportError:
                pass
            assert self.process.poll() is None, f"serve ended:\n{self.log_tail()}"
            time.sleep(0.2)
        raise AssertionError(f"not ready after {within_s} s; log:\n{self.log_tail()}")

    def find_process(self, *words: str) -> int:
        """Return the process of this service whose command line has all the words."""
        for pid in self.process_tree():
            command = _command_line(pid)
            if all(word in command for word in words):
                return pid
        raise AssertionError(f"no process with {words}")

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
        """Return the end of what the service wrote."""
        return self.log.read_text(errors="replace")[-4000:]


@contextmanager
def running_service(folder: Path, **environment: str) -> Iterator[Service]:
    """Start the service, wait until it is ready, and stop it with SIGTERM."""
    port = _free_port()
    url = f"http://127.0.0.1:{port}"
    log = folder / "serve.log"
    settings = {
        "FRAMEKILN_PORT": str(port),
        "FRAMEKILN_DATA": str(folder / "data"),
        "FRAMEKILN_API_KEY": API_KEY,
        **environment,
    }
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "framekiln", "serve"],
            env={**os.environ, **settings},
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        service = Service(process, url, log)
        try:
            service.wait_ready(within_s=180)
            yield service
        finally:
            service.http.close()
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _command_line(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""
