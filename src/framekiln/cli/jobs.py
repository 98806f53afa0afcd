"""`framekiln jobs`: waiting, running and failed jobs. Successful jobs are deleted."""

import asyncio
from dataclasses import asdict
from typing import Annotated

import typer

from framekiln.cli.database import open_services
from framekiln.cli.environment import load_settings
from framekiln.cli.output import JsonFlag, write_json, write_line, write_table
from framekiln.jobs.model import JobNotFound, JobRecord, JobStatus, QueueDepth

app = typer.Typer(help="List, retry and cancel jobs.", no_args_is_help=True, add_completion=False)

JobId = Annotated[int, typer.Argument(help="Number of the job; `jobs list` shows it.")]


@app.command("list")
def list_all(
    queue: Annotated[str | None, typer.Option(help="Only this queue.")] = None,
    kind: Annotated[str | None, typer.Option(help="Only this kind, such as render.film.")] = None,
    status: Annotated[JobStatus | None, typer.Option(help="Only this status.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="Maximum number of jobs.")] = 100,
    as_json: JsonFlag = False,
) -> None:
    """Show jobs."""

    async def run() -> list[JobRecord]:
        async with open_services(load_settings()) as services:
            return await services.jobs.list_jobs(queue=queue, kind=kind, status=status, limit=limit)

    found = asyncio.run(run())
    if as_json:
        write_json([asdict(job) for job in found])
        return
    rows = [
        (job.job_id, job.queue, job.kind, job.status, job.attempts, job.run_at) for job in found
    ]
    write_table(("id", "queue", "kind", "status", "attempts", "not before"), rows)


@app.command()
def depths(as_json: JsonFlag = False) -> None:
    """Show the number of jobs in each queue."""

    async def run() -> list[QueueDepth]:
        async with open_services(load_settings()) as services:
            return await services.jobs.depths()

    found = asyncio.run(run())
    if as_json:
        write_json([asdict(depth) for depth in found])
        return
    rows = [
        (one.queue, one.todo, one.doing, one.failed, f"{one.oldest_age_s:.0f} s") for one in found
    ]
    write_table(("queue", "waiting", "running", "failed", "oldest"), rows)


@app.command()
def retry(job_id: JobId, as_json: JsonFlag = False) -> None:
    """Queue a failed job again."""

    async def run() -> None:
        async with open_services(load_settings()) as services:
            await services.jobs.retry(job_id)

    asyncio.run(run())
    _show(job_id, "queued again", as_json=as_json)


@app.command()
def cancel(job_id: JobId, as_json: JsonFlag = False) -> None:
    """Remove a waiting job, or stop a running one."""

    async def run() -> bool:
        async with open_services(load_settings()) as services:
            return await services.jobs.cancel(job_id)

    if not asyncio.run(run()):
        raise JobNotFound(f"there is no waiting or running job {job_id}: see framekiln jobs list")
    _show(job_id, "cancelled", as_json=as_json)


def _show(job_id: int, what: str, *, as_json: bool) -> None:
    if as_json:
        write_json({"job_id": job_id, "result": what})
    else:
        write_line(f"job {job_id} {what}")
