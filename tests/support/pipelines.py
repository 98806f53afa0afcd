"""Pipelines over a real application: definitions, files that need no upload, and a settable clock.

The runs of `Line` are brought on by the test itself, so that it sees every state in between.
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
from framekiln.pipelines.assembled import Around, PipelineServices
from framekiln.pipelines.outputs.output import Output
from framekiln.pipelines.runners.step import Runners, StepWork, Waiting
from framekiln.pipelines.running.step_job import RunStep
from tests.support.app import Kiln, open_kiln
from tests.support.clock import SettableClock
from tests.support.postgres import PostgresServer

API = "/api/v1"


def step(kind: str, *needs: str, **more: Any) -> dict[str, Any]:
    """Return a step of a definition; `with_` stands for its `with`."""
    if "with_" in more:
        more["with"] = more.pop("with_")
    return {"type": kind, "needs": list(needs), **more}


PROBE = {"steps": {"look": step("probe")}}


@dataclass
class Told:
    """A runner that does as it is told, and notes what it was given."""

    answers: list[Output | Waiting | Exception] = field(default_factory=list)
    works: list[StepWork] = field(default_factory=list)

    async def run(self, work: StepWork) -> Output | Waiting:
        self.works.append(work)
        answer = self.answers.pop(0) if self.answers else Output({"done": True})
        if isinstance(answer, Exception):
            raise answer
        return answer


class Line:
    """One organization's pipelines, with a clock and runners of the test's own."""

    def __init__(self, kiln: Kiln, *, runners: Runners) -> None:
        self.kiln = kiln
        self.clock = SettableClock(SystemClock().now())
        around = kiln.services
        self.services = PipelineServices.over(
            Around(
                database=around.database,
                jobs=around.jobs,
                blobs=around.blobs,
                files=around.files,
                notifications=around.notifications,
                outbox=around.outbox,
                fetcher=around.fetcher,
                clock=self.clock,
            )
        )
        self.handler = RunStep(self.services.work, runners)
        kiln.app.state.services = _With(around, self.services)

    async def get(self, path: str, **query: Any) -> Any:
        """GET something that is there."""
        answer = await self.kiln.client.get(f"{API}/{path}", params=query)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def post(self, path: str, body: Any = None, **headers: str) -> httpx.Response:
        """POST something."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return await self.kiln.client.post(f"{API}/{path}", json=body or {}, headers=named)

    async def made(self, path: str, body: Any = None, **headers: str) -> Any:
        """POST something that is accepted."""
        answer = await self.post(path, body, **headers)
        assert answer.status_code in (200, 201), answer.text
        return answer.json()

    async def pipeline(self, definition: Mapping[str, Any] = PROBE) -> str:
        """Create a pipeline and return its id."""
        made = await self.made("pipelines", {"name": f"p {uuid4()}", "definition": definition})
        return str(made["id"])

    async def file(self, *, status: str = "ready", kind: str = "video") -> str:
        """Put a file there, as if it had been uploaded, with a sound and a video track."""
        file_id = str(uuid4())
        organization = await self.kiln.client.get(f"{API}/organization")
        async with self.kiln.services.database.transaction() as connection:
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

    async def set_file(self, file_id: str, status: str) -> None:
        """Let a file stand differently, as its worker would."""
        await self.run_sql(
            "UPDATE file SET status = %s, error_code = 'x', error_message = 'bad' WHERE id = %s",
            status,
            file_id,
        )

    async def run(self, pipeline_id: str, file_id: str | None = None, **more: Any) -> Any:
        """Begin a run and return it."""
        file_id = file_id or await self.file()
        body = {"pipeline_id": pipeline_id, "file_id": file_id, **more}
        return await self.made("pipeline-runs", body)

    async def shown(self, run: Mapping[str, Any]) -> Any:
        """Return a run as it stands now."""
        return await self.get(f"pipeline-runs/{run['id']}")

    async def statuses(self, run: Mapping[str, Any]) -> dict[str, str]:
        """Return how a run and its steps stand; the run is under an empty key."""
        shown = await self.shown(run)
        steps = {each["step_key"]: each["status"] for each in shown["steps"]}
        return {"": shown["status"], **steps}

    async def jobs(self) -> list[dict[str, Any]]:
        """Take all waiting jobs for steps out of the queue, as workers do."""
        return await self.run_sql(
            """
            DELETE FROM procrastinate_jobs
            WHERE task_name = 'pipeline.step' AND status = 'todo' RETURNING id, args
            """
        )

    async def requeue(self, jobs: list[dict[str, Any]]) -> None:
        """Put jobs back that nobody has done."""
        for job in jobs:
            await self.run_sql(
                """
                INSERT INTO procrastinate_jobs (id, queue_name, task_name, args)
                OVERRIDING SYSTEM VALUE VALUES (%s, 'steps', 'pipeline.step', %s)
                """,
                job["id"],
                Jsonb(job["args"]),
            )

    async def do(self, job: Mapping[str, Any]) -> None:
        """Do a job, perhaps for a second time."""
        await self.handler(JobContext(job["id"], "pipeline.step", job["args"], attempt=1))

    async def work(self) -> int:
        """Do all waiting jobs, and those that follow; return how many there were."""
        count = 0
        while jobs := await self.jobs():
            for job in jobs:
                await self.do(job)
            count += len(jobs)
        return count

    async def tick(self) -> None:
        """Do what a control worker does all the time."""
        await self.services.tick()

    async def run_sql(self, statement: str, *values: Any) -> list[dict[str, Any]]:
        """Run a statement; return its rows."""
        async with self.kiln.services.database.connection() as connection:
            cursor = await connection.execute(statement.encode(), values)
            return await cursor.fetchall() if cursor.description else []


class _With:
    """The services of an application, but for its pipelines."""

    def __init__(self, services: Any, pipelines: PipelineServices) -> None:
        self._services = services
        self.pipelines = pipelines

    def __getattr__(self, name: str) -> Any:
        return getattr(self._services, name)


@asynccontextmanager
async def open_line(
    postgres: PostgresServer, folder: Path, *, template: str, runners: Runners
) -> AsyncIterator[Line]:
    """Run the application for an organization that may use pipelines."""
    allow = frozenset({"127.0.0.1"})
    async with open_kiln(postgres, folder, template=template, fetch_allow=allow) as kiln:
        await enable(kiln)
        yield Line(kiln, runners=runners)


async def enable(kiln: Kiln) -> None:
    """Switch pipelines on for the organization."""
    caller = await kiln.services.identity.authenticate(kiln.key)
    await kiln.services.identity.set_pipelines(caller.organization.id, True)
