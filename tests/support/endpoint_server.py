"""An endpoint that may be killed at any time: its requests are recorded in a file.

    python -m tests.support.endpoint_server NOTES PORT

`/at-once` responds with its output. `/later` responds with 202, sends a heartbeat, and calls back
until the service responds. After a restart it continues unfinished work. Both are slow, always
return the same output, and drop the connection of some first attempts. Only of first ones, because
a step that never gets a response fails. Uses the standard library only, for a fast start.
"""

import json
import sys
import time
from collections import Counter
from http.client import HTTPException  # noqa: TID251 - not of the service
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock, Thread
from typing import Any
from urllib.error import HTTPError
from urllib.request import ProxyHandler, Request, build_opener  # noqa: TID251 - not of the service
from zlib import crc32

from tests.support.endpoint_log import AcceptedWork, EndpointLog

AT_ONCE, LATER = "/at-once", "/later"
CALM = "calm"
"""The `external_id` of a run whose requests are never dropped."""
BOX = {"x": 0.1, "y": 0.1, "w": 0.5, "h": 0.5}
FOUND = {
    "metadata": {"seen": True},
    "annotations": [
        {"kind": "face", "start_ms": 0, "end_ms": 900, "keyframes": [{"t_ms": 0, **BOX}]}
    ],
}
_SLOW_S = 0.4
"""Long enough to be killed meanwhile, on either side."""
_PAUSE_S = 0.5
_PATIENCE_S = 300.0
_DROP_ONE_IN = 6

_opener = build_opener(ProxyHandler({}))


class EndpointServer:
    """Handles requests."""

    def __init__(self, notes: EndpointLog) -> None:
        self._notes = notes
        self._now: Counter[str] = Counter()
        self._lock = Lock()
        for work in notes.unfinished():
            self._begin(work)

    def take(self, path: str, body: dict[str, Any], message_id: str) -> bytes | None:
        """Return the output, an empty body if it comes later, or None to drop the connection."""
        with self._lock:
            self._now[path] += 1
            self._notes.log_request(path, body, message_id, self._now[path])
        try:
            time.sleep(_SLOW_S)
            work = AcceptedWork(body["idempotency_key"], body["callback"]["url"])
            if path == LATER and self._notes.accept(work):
                self._begin(work)
        finally:
            with self._lock:
                self._now[path] -= 1
        if _is_dropped(body):
            return None
        return b"" if path == LATER else json.dumps(FOUND).encode()

    def _begin(self, work: AcceptedWork) -> None:
        Thread(target=self._do, args=(work,), daemon=True).start()

    def _do(self, work: AcceptedWork) -> None:
        for callback in ({"status": "heartbeat"}, {"status": "succeeded", "output": FOUND}):
            time.sleep(_SLOW_S)
            status = _post_with_retries(work.callback_url, callback)
            self._notes.log_callback(work.key, str(callback["status"]), status)
        self._notes.finish(work.key)


def _is_dropped(body: dict[str, Any]) -> bool:
    if body["attempt"] > 1 or body["external_id"] == CALM:
        return False
    # Not random: after a restart, the decision must be the same.
    return crc32(body["idempotency_key"].encode()) % _DROP_ONE_IN == 0


def _post_with_retries(url: str, body: dict[str, Any]) -> int:
    """Call back, with retries while the service does not respond; return the status."""
    headers = {"Content-Type": "application/json"}
    while True:
        request = Request(url, json.dumps(body).encode(), headers, method="POST")
        try:
            with _opener.open(request, timeout=_PATIENCE_S) as answer:
                return int(answer.status)
        except HTTPError as error:
            error.close()
            if error.code < 500:
                return error.code
        except (OSError, HTTPException):
            pass
        time.sleep(_PAUSE_S)


class _Handler(BaseHTTPRequestHandler):
    endpoint: EndpointServer

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        output = self.endpoint.take(self.path, body, self.headers["webhook-id"])
        if output is None:
            return
        self.send_response(200 if output else 202)
        self.send_header("Content-Length", str(len(output)))
        self.end_headers()
        self.wfile.write(output)

    def log_message(self, format: str, *args: object) -> None:
        """Write nothing: the log file has everything."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore errors: workers are killed while they wait for a response."""


def main() -> None:
    """Serve until killed."""
    notes, port = Path(sys.argv[1]), int(sys.argv[2])
    with _Server(("127.0.0.1", port), _Handler) as server:
        _Handler.endpoint = EndpointServer(EndpointLog(notes))
        server.serve_forever()


if __name__ == "__main__":
    main()
