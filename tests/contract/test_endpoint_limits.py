"""Limits on requests to an endpoint hold over all workers, also when one of them is killed."""

import asyncio
import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from threading import Event, Lock

import pytest

from framekiln.jobs.model import WorkerPool
from tests.contract.conftest import TEMPLATE
from tests.support.endpoint_harness import (
    EndpointHarness,
    TlsReceiver,
    attempt_handler,
    open_endpoints,
)
from tests.support.jobs import FAST_TIMING, sweep_dead, worker_ids
from tests.support.pipelines import step
from tests.support.postgres import PostgresServer
from tests.support.receiver import Answer, ReceivedRequest
from tests.support.timeouts import TIMEOUT_S

pytestmark = pytest.mark.spec("4.7")

RUNS = 30
OF_ENDPOINT, OF_NARROW, OF_WIDE = 5, 2, 4
MAX_TIMEOUT_MS = 600_000
WORKER = """
import asyncio, sys
from pathlib import Path
from framekiln.services import Services
from framekiln.jobs.model import WorkerPool
from framekiln.settings import Settings
from tests.support.endpoint_harness import attempt_handler
from tests.support.jobs import FAST_TIMING

async def main(conninfo, folder):
    settings = Settings(data=Path(folder), base_url="http://kiln.test",
        fetch_allow=frozenset({"127.0.0.1"}), fetch_ca_file=Path(folder) / "cert.pem")
    async with Services.open(settings, conninfo) as services:
        await services.jobs.run_worker(
            {"pipeline.send": attempt_handler(services)}, WorkerPool(("endpoints",), 8),
            name="victim", timing=FAST_TIMING)

asyncio.run(main(*sys.argv[1:]))
"""


class CountingResponder:
    """Answers slowly, and counts how many requests wait for an answer at a time."""

    def __init__(self) -> None:
        self.most: Counter[str] = Counter()
        self.keys: Counter[str] = Counter()
        self.accepted: list[str] = []
        self.is_full = Event()
        self.may_answer = Event()
        self.is_idle = Event()
        self._now: Counter[str] = Counter()
        self._lock = Lock()

    def answer(self, request: ReceivedRequest) -> Answer:
        """Answer with 200 for one step, with 202 for the other."""
        body = json.loads(request.body)
        names = ("all", body["step_key"])
        with self._lock:
            self.keys[body["idempotency_key"]] += 1
            self._now.update(names)
            self.most |= self._now
        if self._now["all"] == OF_ENDPOINT:
            self.is_full.set()
        self.may_answer.wait(TIMEOUT_S)
        time.sleep(0.02)
        with self._lock:
            self._now.subtract(names)
            if not self._now["all"]:
                self.is_idle.set()
            if body["step_key"] == "narrow":
                return Answer(200)
            self.accepted.append(body["callback"]["url"])
        return Answer(202)


@pytest.fixture
async def endpoints(postgres: PostgresServer, tmp_path: Path) -> AsyncIterator[EndpointHarness]:
    async with open_endpoints(postgres, tmp_path, template=TEMPLATE) as endpoints:
        yield endpoints


async def test_limits_hold_over_two_workers_when_one_is_killed(
    endpoints: EndpointHarness, tmp_path: Path
) -> None:
    line, counting = endpoints.pipelines, CountingResponder()
    with TlsReceiver(endpoints.certificate) as endpoint_receiver:
        endpoint_receiver.answer_by(counting.answer)
        endpoint = await endpoints.create_endpoint(
            endpoint_receiver.url(), max_concurrency=OF_ENDPOINT, timeout_ms=MAX_TIMEOUT_MS
        )
        steps = {
            name: step("endpoint", with_={"endpoint_id": endpoint["id"], "max_concurrency": limit})
            for name, limit in (("narrow", OF_NARROW), ("wide", OF_WIDE))
        }
        pipeline, file = await line.create_pipeline({"steps": steps}), await endpoints.add_file()
        runs = [await line.start_run(pipeline, file) for _ in range(RUNS)]
        victim = start_worker(await conninfo_of(endpoints), tmp_path)
        try:
            # All slots are the victim's when it dies.
            assert await asyncio.to_thread(counting.is_full.wait, TIMEOUT_S)
            dead = await worker_ids(line.app.services.database)
            async with working(endpoints), working(endpoints):
                victim.kill()
                await asyncio.to_thread(victim.wait)
                counting.may_answer.set()
                # Nobody has a slot before the dead worker's jobs are given back.
                assert await asyncio.to_thread(counting.is_idle.wait, TIMEOUT_S)
                await everything_called_back(endpoints, counting, dead)
        finally:
            counting.may_answer.set()
            victim.kill()
            victim.wait()
    assert {(await line.get_run(run))["status"] for run in runs} == {"succeeded"}
    assert counting.most["all"] == OF_ENDPOINT
    assert counting.most["narrow"] <= OF_NARROW
    assert counting.most["wide"] <= OF_WIDE
    # What the victim had under way came again, with the key that it had; but for what was called
    # back before that.
    assert len(counting.keys) == 2 * RUNS
    again = [count - 1 for count in counting.keys.values() if count > 1]
    assert OF_ENDPOINT - OF_WIDE <= len(again) <= OF_ENDPOINT
    assert set(again) == {1}
    rows = await line.run_sql("SELECT number, state FROM pipeline_attempt")
    assert {(row["number"], row["state"]) for row in rows} == {(1, "done")}


async def everything_called_back(
    endpoints: EndpointHarness, counting: CountingResponder, dead: list[int]
) -> None:
    """Call back for what was accepted, and give the dead worker's jobs back, until all is done."""
    services, called = endpoints.pipelines.app.services, set[str]()
    async with asyncio.timeout(2 * TIMEOUT_S):
        while await endpoints.pipelines.run_sql(
            "SELECT id FROM pipeline_run WHERE status = 'running'"
        ):
            await sweep_dead(services.jobs, services.database, dead)
            for url in set(counting.accepted) - called:
                answer = await endpoints.call_back(url, {"status": "succeeded"})
                assert answer.status_code == 200, answer.text
                called.add(url)
            await asyncio.sleep(0.1)


async def conninfo_of(endpoints: EndpointHarness) -> str:
    async with endpoints.pipelines.app.services.database.connection() as connection:
        return connection.info.dsn


@asynccontextmanager
async def working(endpoints: EndpointHarness) -> AsyncIterator[None]:
    services = endpoints.pipelines.app.services
    handlers = {"pipeline.send": attempt_handler(services)}
    task = asyncio.create_task(
        services.jobs.run_worker(
            handlers, WorkerPool(("endpoints",), 8), name="other", timing=FAST_TIMING
        )
    )
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


def start_worker(conninfo: str, folder: Path) -> subprocess.Popen[bytes]:
    """Run a worker in a process of its own."""
    root = Path(__file__).parents[2]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(root), str(root / "src")])}
    command = [sys.executable, "-c", WORKER, conninfo, str(folder)]
    return subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)
