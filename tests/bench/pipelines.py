"""What running pipelines costs beside the work of their steps, in a whole service.

Every process counts: api, workers, PostgreSQL. Steps that make nothing (probe, filter, publish) are
run over a batch of files, first alone, then beside 100,000 runs that wait.
"""

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
from rich.console import Console
from rich.table import Table

from framekiln.client import Client
from framekiln.db.embedded import EmbeddedPostgres
from tests.bench.cpu import process_tree_cpu_s
from tests.support.clips import make_clip
from tests.support.pipelines import step
from tests.support.service import API_KEY, Service, running_service

RUNS = 1000
WAITING = 100_000
STEPS = {
    "look": step("probe"),
    "short": step(
        "filter", "look", when={"path": "look.metadata.duration_ms", "op": "lt", "value": 60_000}
    ),
    "out": step("publish", "short"),
}
MANY_MORE = """
    INSERT INTO pipeline_run (id, organization_id, pipeline_id, pipeline_version, file_id,
        batch_id, status, is_admitted, request_digest, created_at)
    SELECT gen_random_uuid(), organization_id, pipeline_id, pipeline_version, file_id,
        batch_id, 'pending', false, request_digest, now()
    FROM pipeline_run, generate_series(1, %s) WHERE batch_id = %s
"""
ALIKE = """
    INSERT INTO file (id, organization_id, filename, type, status, media_type, byte_size,
        next_byte, width_px, height_px, duration_ms, created_at, completed_at)
    SELECT %s, organization_id, filename, type, status, media_type, byte_size,
        next_byte, width_px, height_px, duration_ms, created_at, completed_at
    FROM file WHERE id = %s
"""


@dataclass(frozen=True)
class PipelineRow:
    """One batch; `step_ms` is processor time of all processes for each of its steps."""

    name: str
    run_count: int
    step_ms: float
    database_ms: float
    """The part of it that PostgreSQL took."""
    runs_per_s: float


def measure_pipelines() -> list[PipelineRow]:
    """Run a batch alone and beside many runs that wait."""
    with _service() as (service, client, database):
        clip = client.files.upload(make_clip(service.log.parent / "clip.mp4"))
        client.files.wait_ready(clip.id)
        pipeline = client.pipelines.create("bench", {"steps": STEPS})
        batch = _Batches(service, client, database, clip_id=clip.id, pipeline_id=pipeline.id)
        batch.measure("to get warm", run_count=50)
        alone = batch.measure("alone", run_count=RUNS)
        batch.let_wait(WAITING)
        beside = batch.measure(f"beside {WAITING} waiting runs", run_count=RUNS)
    return [alone, beside]


def print_pipelines(rows: list[PipelineRow]) -> None:
    """Print one line for each batch."""
    table = Table(title="Pipelines: probe, filter, publish; CPU milliseconds a step, all processes")
    for column in ("batch", "runs", "a step", "of it PostgreSQL", "runs/s"):
        table.add_column(column, justify="left" if column == "batch" else "right")
    for row in rows:
        table.add_row(
            row.name,
            str(row.run_count),
            f"{row.step_ms:.1f}",
            f"{row.database_ms:.1f}",
            f"{row.runs_per_s:.1f}",
        )
    Console(width=160).print(table)


@dataclass(frozen=True)
class _Batches:
    """Batches over files that are all alike."""

    service: Service
    client: Client
    database: "psycopg.Connection[Any]"
    clip_id: str
    pipeline_id: str

    def measure(self, name: str, *, run_count: int) -> PipelineRow:
        files = [str(uuid4()) for _ in range(run_count)]
        with self.database.cursor() as cursor:
            cursor.executemany(ALIKE, [(each, self.clip_id) for each in files])
        postgres = self.service.find_process("postgres", "-D")
        everything = self.service.process.pid
        before = process_tree_cpu_s(everything), process_tree_cpu_s(postgres), time.perf_counter()
        batch, _ = self.client.batches.create(self.pipeline_id, files, max_in_flight=20)
        self._wait(batch.id)
        after = process_tree_cpu_s(everything), process_tree_cpu_s(postgres), time.perf_counter()
        whole_s, database_s, wall_s = (b - a for a, b in zip(before, after, strict=True))
        step_count = run_count * len(STEPS)
        return PipelineRow(
            name,
            run_count,
            step_ms=1000 * whole_s / step_count,
            database_ms=1000 * database_s / step_count,
            runs_per_s=run_count / wall_s,
        )

    def let_wait(self, run_count: int) -> None:
        """Put runs there that wait behind one that nobody reviews."""
        held = self.client.pipelines.create("held", {"steps": {"check": step("review")}})
        batch, _ = self.client.batches.create(held.id, [self.clip_id], max_in_flight=1)
        self.database.execute(MANY_MORE, (run_count, batch.id))
        # What PostgreSQL does about so many new rows is not what is measured.
        self.database.execute("VACUUM ANALYZE")
        self.database.execute("CHECKPOINT")

    def _wait(self, batch_id: str) -> None:
        while (batch := self.client.batches.get(batch_id)).status != "completed":
            time.sleep(0.5)
        assert batch.raw["succeeded_count"] == batch.raw["run_count"], batch


@contextmanager
def _service() -> Iterator[tuple[Service, Client, "psycopg.Connection[Any]"]]:
    with tempfile.TemporaryDirectory() as name, running_service(Path(name)) as service:
        conninfo = EmbeddedPostgres(Path(name) / "data" / "pg").conninfo
        with (
            Client(service.url, API_KEY) as client,
            psycopg.connect(conninfo, autocommit=True) as database,
        ):
            yield service, client, database


if __name__ == "__main__":
    print_pipelines(measure_pipelines())
