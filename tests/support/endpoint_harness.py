"""Endpoint steps in a real application, with TLS endpoints on the loopback interface.

The test itself sends due requests (`EndpointHarness.send_due`), with a clock that it advances, so
that it sees every intermediate state. Only tests of many workers run workers.
"""

import asyncio
import json
import ssl
import subprocess
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx

from framekiln.api.v1 import file_frames, pipeline_callbacks
from framekiln.db.pool import Database
from framekiln.identity.signatures.stored_keys import StoredSigningKeys
from framekiln.identity.signatures.tokens import AccessTokens
from framekiln.jobs.model import JobContext
from framekiln.kit.clock import SystemClock
from framekiln.pipelines.endpoints.handlers import SendAttempt
from framekiln.pipelines.endpoints.request_body import RequestBodies
from framekiln.services import Services
from framekiln.storage.keys import TrackedKey
from tests.support.app import BASE_URL, AppHarness, open_app
from tests.support.pipelines import PipelineHarness, ScriptedRunner, enable_pipelines, step
from tests.support.postgres import PostgresServer
from tests.support.receiver import NO_ANSWER, Answer, ReceivedRequest, Receiver
from tests.support.timeouts import TIMEOUT_S

OUTPUT = {
    "metadata": {"faces": 1},
    "annotations": [{"kind": "face", "start_ms": 0, "end_ms": 500, "confidence": 0.5}],
}
DONE = Answer(200, json.dumps(OUTPUT).encode())


class TlsReceiver(Receiver):
    """A receiver with a certificate for 127.0.0.1."""

    def __init__(self, certificate: Path) -> None:
        super().__init__()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, certificate.with_name("key.pem"))
        self._server.socket = context.wrap_socket(
            self._server.socket, server_side=True, do_handshake_on_connect=False
        )

    def url(self, path: str = "/") -> str:
        return f"https://127.0.0.1:{self.port}{path}"


def make_certificate(folder: Path) -> Path:
    """Create a certificate for the loopback address, and its key in the same folder."""
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2"
    names = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    files = ["-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem")]
    subprocess.run([*command.split(), *names, *files], check=True, capture_output=True)
    return folder / "cert.pem"


def attempt_handler(
    services: Services, line: PipelineHarness | None = None, *, keys_in: Database | None = None
) -> SendAttempt:
    """Return the handler of attempts; with a harness, it uses the harness's clock."""
    pipelines = line.services if line else services.pipelines
    clock = line.clock if line else services.clock
    tokens = AccessTokens(StoredSigningKeys(keys_in or services.database, clock), clock)
    bodies = RequestBodies(tokens, public_url=services.settings.public_url)
    return SendAttempt(pipelines.attempt_worker, services.fetcher, bodies, clock)


class EndpointHarness:
    """One organization's endpoint steps."""

    def __init__(self, pipelines: PipelineHarness, certificate: Path) -> None:
        self.pipelines = pipelines
        self.certificate = certificate
        self.handler = attempt_handler(pipelines.app.services, pipelines)
        self.loop = asyncio.get_running_loop()
        transport = httpx.ASGITransport(pipelines.app.asgi)
        self.anonymous = httpx.AsyncClient(transport=transport, base_url=BASE_URL)
        """A client without an API key."""

    async def create_endpoint(self, url: str, **settings: Any) -> Any:
        """Register an endpoint."""
        return await self.pipelines.create("pipeline-endpoints", {"url": url, **settings})

    async def clear(self) -> None:
        """Remove the state of earlier tests, and set the clock to now: verifiers use theirs."""
        await self.take_jobs()
        await self.pipelines.run_sql("UPDATE pipeline_attempt SET state = 'done'")
        await self.pipelines.run_sql("DELETE FROM pipeline_change")
        self.pipelines.clock.set(SystemClock().now())

    async def add_file(self) -> str:
        """Add a file, as if its original had been uploaded."""
        file_id = await self.pipelines.add_file()
        await self.pipelines.run_sql(
            "UPDATE file SET has_source = true, completed_at = now() WHERE id = %s", file_id
        )
        return file_id

    async def store(self, file_id: str, name: str, content: bytes) -> None:
        """Store a blob of a file."""
        services = self.pipelines.app.services
        caller = await services.identity.authenticate(self.pipelines.app.key)
        key = f"org/{caller.organization.id}/files/{file_id}/{name}"
        await services.blobs.put(TrackedKey(key), content)

    async def start_run(self, endpoint: Mapping[str, Any], **more: Any) -> Any:
        """Start a run of a pipeline with a single step for this endpoint."""
        settings = {"endpoint_id": endpoint["id"]}
        pipeline = await self.pipelines.create_pipeline(
            {"steps": {"ask": step("endpoint", with_=settings)}}
        )
        return await self.pipelines.start_run(
            pipeline, more.pop("file_id", None) or await self.add_file(), **more
        )

    async def take_jobs(self) -> list[dict[str, Any]]:
        """Remove all waiting send jobs from the queue, oldest first, as workers do."""
        return await self.pipelines.run_sql(
            """
            WITH taken AS (
                DELETE FROM procrastinate_jobs
                WHERE task_name = 'pipeline.send' AND status = 'todo' RETURNING id, args
            ) SELECT id, args FROM taken ORDER BY id
            """
        )

    async def run_job(self, job: Mapping[str, Any]) -> None:
        """Run a job; it may have run before."""
        await self.handler(JobContext(job["id"], "pipeline.send", job["args"], attempt=1))

    async def send_due(self) -> int:
        """Send all due requests; return their number."""
        jobs = await self.take_jobs()
        await asyncio.gather(*(self.run_job(job) for job in jobs))
        return len(jobs)

    async def attempts(self, run: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return the attempts of a run, oldest first."""
        return await self.pipelines.run_sql(
            "SELECT * FROM pipeline_attempt WHERE run_id = %s ORDER BY position", run["id"]
        )

    async def get_step(self, run: Mapping[str, Any]) -> Any:
        """Return the step as the API shows it."""
        [found] = [
            each
            for each in (await self.pipelines.get_run(run))["steps"]
            if each["step_key"] == "ask"
        ]
        return found

    async def get_output(self, run: Mapping[str, Any]) -> Any:
        """Return the output of the step."""
        page = await self.pipelines.get(f"pipeline-runs/{run['id']}/outputs/ask")
        return page["outputs"][0]["output"]

    async def call_back(self, url: str, body: Any) -> httpx.Response:
        """Call back as an endpoint does, without an API key."""
        return await self.anonymous.post(url, json=body)

    def call_back_from_thread(self, url: str, body: Any) -> httpx.Response:
        """Do the same from the thread of a receiver."""
        future = asyncio.run_coroutine_threadsafe(self.call_back(url, body), self.loop)
        return future.result(TIMEOUT_S)


@asynccontextmanager
async def open_endpoints(
    postgres: PostgresServer, folder: Path, *, template: str
) -> AsyncIterator[EndpointHarness]:
    """Run the application for an organization that may use pipelines."""
    certificate = make_certificate(folder)
    async with open_app(
        postgres,
        folder,
        template=template,
        fetch_allow=frozenset({"127.0.0.1"}),
        fetch_ca_file=certificate,
    ) as app:
        await enable_pipelines(app)
        _add_routes(app)
        harness = EndpointHarness(
            PipelineHarness(
                app, runners={"probe": ScriptedRunner(), "sample_frames": ScriptedRunner()}
            ),
            certificate,
        )
        yield harness
        await harness.anonymous.aclose()


def _add_routes(app: AppHarness) -> None:
    paths = {getattr(route, "path", "") for route in app.asgi.routes}
    for router in (pipeline_callbacks.router, file_frames.router):
        if not paths & {getattr(route, "path", "") for route in router.routes}:
            app.asgi.include_router(router)


def request_json(request: ReceivedRequest) -> Any:
    """Return the JSON body of a request."""
    return json.loads(request.body)


async def start_accepted_run(
    endpoints: EndpointHarness, endpoint_receiver: TlsReceiver, **settings: Any
) -> tuple[Any, str]:
    """Return a run whose endpoint has accepted the work, and its callback URL."""
    endpoint_receiver.answer_next(Answer(202))
    run = await endpoints.start_run(
        await endpoints.create_endpoint(endpoint_receiver.url(), **settings)
    )
    assert await endpoints.send_due() == 1
    return run, request_json(endpoint_receiver.requests[-1])["callback"]["url"]


async def kill_during_request(
    endpoints: EndpointHarness, endpoint_receiver: TlsReceiver, job: dict[str, Any]
) -> None:
    """Run a job until the endpoint has received the request, then cancel it."""
    endpoint_receiver.answer(NO_ANSWER)
    before = len(endpoint_receiver.requests)
    task = asyncio.create_task(endpoints.run_job(job))
    await asyncio.to_thread(endpoint_receiver.wait_for, before + 1)
    task.cancel()
    await asyncio.wait([task])
