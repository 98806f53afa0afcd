"""Pipelines in a real application: definitions, files without uploads, and a settable clock.

Tests advance the runs of `PipelineHarness` themselves, so that they see every state.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
from psycopg.types.json import Jsonb

from framekiln.jobs.model import JobContext
from framekiln.kit.clock import SystemClock
from framekiln.pipelines.execution.handlers import RunStep
from framekiln.pipelines.execution.step_type import RetryLater, Runners, StepTypes, StepWork
from framekiln.pipelines.outputs.model import StepOutput
from framekiln.pipelines.steps import STEP_TYPES
from framekiln.pipelines.wiring import PipelineDependencies, PipelineServices
from tests.support.app import AppHarness, open_app
from tests.support.clock import SettableClock
from tests.support.postgres import PostgresServer

API = "/api/v1"


def step(kind: str, *needs: str, **more: Any) -> dict[str, Any]:
    """Return a step of a definition; `with_` is its `with`."""
    if "with_" in more:
        more["with"] = more.pop("with_")
    return {"type": kind, "needs": list(needs), **more}


PROBE = {"steps": {"look": step("probe")}}


@dataclass
class ScriptedRunner:
    """A runner with scripted results, which records its inputs."""

    results: list[StepOutput | RetryLater | Exception] = field(default_factory=list)
    calls: list[StepWork] = field(default_factory=list)

    async def run(self, work: StepWork) -> StepOutput | RetryLater:
        self.calls.append(work)
        answer = self.results.pop(0) if self.results else StepOutput({"done": True})
        if isinstance(answer, Exception):
            raise answer
        return answer


class PipelineHarness:
    """One organization's pipelines, with a clock and runners of the test."""

    def __init__(
        self, app: AppHarness, *, runners: Runners, step_types: StepTypes = STEP_TYPES
    ) -> None:
        self.app = app
        self.clock = SettableClock(SystemClock().now())
        around = app.services
        self.services = PipelineServices.build(
            PipelineDependencies(
                database=around.database,
                jobs=around.jobs,
                blobs=around.blobs,
                files=around.files,
                notifications=around.notifications,
                outbox=around.outbox,
                fetcher=around.fetcher,
                clock=self.clock,
                quotas=around.quotas,
            ),
            step_types=step_types,
        )
        self.handler = RunStep(self.services.worker, runners)
        app.asgi.state.services = _ServicesWithPipelines(around, self.services)

    async def get(self, path: str, **query: Any) -> Any:
        """GET a resource that exists."""
        answer = await self.app.client.get(f"{API}/{path}", params=query)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def post(self, path: str, body: Any = None, **headers: str) -> httpx.Response:
        """POST a body."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return await self.app.client.post(f"{API}/{path}", json=body or {}, headers=named)

    async def create(self, path: str, body: Any = None, **headers: str) -> Any:
        """POST a body that must be accepted."""
        answer = await self.post(path, body, **headers)
        assert answer.status_code in (200, 201), answer.text
        return answer.json()

    async def create_pipeline(self, definition: Mapping[str, Any] = PROBE) -> str:
        """Create a pipeline and return its id."""
        made = await self.create("pipelines", {"name": f"p {uuid4()}", "definition": definition})
        return str(made["id"])

    async def add_file(self, *, status: str = "ready", kind: str = "video") -> str:
        """Add a file, as if it had been uploaded, with an audio and a video track."""
        file_id = str(uuid4())
        organization = await self.app.client.get(f"{API}/organization")
        async with self.app.services.database.transaction() as connection:
            await connection.execute(
                """
                INSERT INTO file (id, organization_id, filename, type, status, byte_size,
                    width_px, height_px, duration_ms, media_type, created_at)
                VALUES (%s, %s, 'clip.mp4', %s, %s, 1000, 320, 240, 2000, 'video/mp4', now())
                """,
                (file_id, organization.json()["id"], kind, status),
            )
            for number, track, info in (
                (1, "video", '{"width": 320, "height": 240}'),
                (2, "audio", '{"sample_rate": "48000", "channels": 2}'),
            ):
                await connection.execute(
                    """
                    INSERT INTO file_track (file_id, track_id, type, codec_name, duration_ms,
                        byte_size, next_byte, is_complete, probe_info)
                    VALUES (%s, %s, %s, 'h264', 2000, 10, 10, true, %s)
                    """,
                    (file_id, number, track, info),
                )
        return file_id

    async def set_file_status(self, file_id: str, status: str) -> None:
        """Set the status of a file, as its worker would."""
        await self.run_sql(
            "UPDATE file SET status = %s, error_code = 'x', error_message = 'bad' WHERE id = %s",
            status,
            file_id,
        )

    async def start_run(self, pipeline_id: str, file_id: str | None = None, **more: Any) -> Any:
        """Start a run and return it."""
        file_id = file_id or await self.add_file()
        body = {"pipeline_id": pipeline_id, "file_id": file_id, **more}
        return await self.create("pipeline-runs", body)

    async def get_run(self, run: Mapping[str, Any]) -> Any:
        """Return the current state of a run."""
        return await self.get(f"pipeline-runs/{run['id']}")

    async def statuses(self, run: Mapping[str, Any]) -> dict[str, str]:
        """Return the statuses of a run and its steps; the run has an empty key."""
        shown = await self.get_run(run)
        steps = {each["step_key"]: each["status"] for each in shown["steps"]}
        return {"": shown["status"], **steps}

    async def clear(self) -> None:
        """Drop jobs and changes that earlier tests left."""
        await self.take_jobs()
        await self.run_sql("DELETE FROM pipeline_change")

    async def take_jobs(self) -> list[dict[str, Any]]:
        """Remove all waiting step jobs from the queue, oldest first, as workers do."""
        return await self.run_sql(
            """
            WITH taken AS (
                DELETE FROM procrastinate_jobs
                WHERE task_name = 'pipeline.step' AND status = 'todo' RETURNING id, args
            ) SELECT id, args FROM taken ORDER BY id
            """
        )

    async def requeue(self, jobs: list[dict[str, Any]]) -> None:
        """Put jobs that were not run back into the queue."""
        for job in jobs:
            await self.run_sql(
                """
                INSERT INTO procrastinate_jobs (id, queue_name, task_name, args)
                OVERRIDING SYSTEM VALUE VALUES (%s, 'steps', 'pipeline.step', %s)
                """,
                job["id"],
                Jsonb(job["args"]),
            )

    async def run_job(self, job: Mapping[str, Any]) -> None:
        """Run a job; it may have run before."""
        await self.handler(JobContext(job["id"], "pipeline.step", job["args"], attempt=1))

    async def run_all_jobs(self) -> int:
        """Run all waiting jobs, and those that follow; return their number."""
        count = 0
        while jobs := await self.take_jobs():
            for job in jobs:
                await self.run_job(job)
            count += len(jobs)
        return count

    async def tick(self) -> None:
        """Do the periodic work of a control worker."""
        for part in self.services.periodic_work().values():
            await part()

    async def run_sql(self, statement: str, *values: Any) -> list[dict[str, Any]]:
        """Run a statement; return its rows."""
        async with self.app.services.database.connection() as connection:
            cursor = await connection.execute(statement.encode(), values)
            return await cursor.fetchall() if cursor.description else []


class _ServicesWithPipelines:
    """The services of an application, with other pipelines."""

    def __init__(self, services: Any, pipelines: PipelineServices) -> None:
        self._services = services
        self.pipelines = pipelines

    def __getattr__(self, name: str) -> Any:
        return getattr(self._services, name)


@asynccontextmanager
async def open_pipelines(
    postgres: PostgresServer,
    folder: Path,
    *,
    template: str,
    runners: Runners,
    step_types: StepTypes = STEP_TYPES,
) -> AsyncIterator[PipelineHarness]:
    """Run the application for an organization that may use pipelines."""
    allow = frozenset({"127.0.0.1"})
    async with open_app(postgres, folder, template=template, fetch_allow=allow) as app:
        await enable_pipelines(app)
        yield PipelineHarness(app, runners=runners, step_types=step_types)


async def enable_pipelines(app: AppHarness) -> None:
    """Switch pipelines on for the organization."""
    caller = await app.services.identity.authenticate(app.key)
    await app.services.identity.set_pipelines(caller.organization.id, True)
