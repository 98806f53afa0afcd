"""The requests and pending work of an endpoint, in a file that outlives it."""

import sqlite3
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

_TABLES = """
CREATE TABLE IF NOT EXISTS request (
    path TEXT, run_id TEXT, step_key TEXT, attempt INTEGER, key TEXT, message_id TEXT,
    at_a_time INTEGER);
CREATE TABLE IF NOT EXISTS work (key TEXT PRIMARY KEY, callback_url TEXT, is_done INTEGER);
CREATE TABLE IF NOT EXISTS callback (key TEXT, what TEXT, status INTEGER);
"""
# A killed process loses no data this way; only a power failure would.
_QUICKLY = "PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; PRAGMA busy_timeout = 30000;"


@dataclass(frozen=True)
class AcceptedWork:
    """Accepted work that needs a callback."""

    key: str
    callback_url: str


class EndpointLog:
    """The file; threads and processes may share it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = Lock()
        with self._open() as notes:
            notes.executescript(_TABLES)

    def log_request(self, path: str, body: Mapping[str, Any], message_id: str, now: int) -> None:
        """Record a request, and the number of concurrent requests at that moment."""
        place = (path, body["pipeline_run_id"], body["step_key"], body["attempt"])
        self._write(
            "INSERT INTO request VALUES (?, ?, ?, ?, ?, ?, ?)",
            (*place, body["idempotency_key"], message_id, now),
        )

    def accept(self, work: AcceptedWork) -> bool:
        """Record accepted work; return False if it was recorded already."""
        return self._write(
            "INSERT OR IGNORE INTO work VALUES (?, ?, 0)", (work.key, work.callback_url)
        )

    def log_callback(self, key: str, what: str, status: int) -> None:
        """Record the service's response to a callback."""
        self._write("INSERT INTO callback VALUES (?, ?, ?)", (key, what, status))

    def finish(self, key: str) -> None:
        """Record that the work is done."""
        self._write("UPDATE work SET is_done = 1 WHERE key = ?", (key,))

    def unfinished(self) -> list[AcceptedWork]:
        """Return accepted work that is not done."""
        rows = self._read("SELECT key, callback_url FROM work WHERE is_done = 0")
        return [AcceptedWork(*row) for row in rows]

    def keys_by_attempt(self) -> dict[tuple[Any, ...], set[str]]:
        """Return the keys of each attempt, from bodies and headers."""
        found: dict[tuple[Any, ...], set[str]] = defaultdict(set)
        asked = "SELECT run_id, step_key, attempt, key, message_id FROM request"
        for *attempt, key, message_id in self._read(asked):
            found[tuple(attempt)] |= {key, message_id}
        return found

    def request_count(self) -> int:
        """Return the number of requests."""
        return int(self._read("SELECT count(*) FROM request")[0][0])

    def max_concurrency(self) -> dict[str, int]:
        """Return the highest number of concurrent requests, by path."""
        return dict(self._read("SELECT path, max(at_a_time) FROM request GROUP BY path"))

    def callback_counts(self) -> dict[str, int]:
        """Return the number of callbacks by kind and response status."""
        asked = "SELECT what || ' ' || status, count(*) FROM callback GROUP BY 1 ORDER BY 1"
        return dict(self._read(asked))

    def _read(self, statement: str) -> list[tuple[Any, ...]]:
        with self._open() as notes:
            return notes.execute(statement).fetchall()

    def _write(self, statement: str, values: tuple[Any, ...]) -> bool:
        with self._lock, self._open() as notes, notes:
            return notes.execute(statement, values).rowcount == 1

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(self._path)) as notes:
            notes.executescript(_QUICKLY)
            yield notes
