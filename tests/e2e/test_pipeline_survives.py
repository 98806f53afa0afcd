"""kill -9 of every process, again and again, while runs go on: they end as if nothing had been."""

import os
import random
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from framekiln.client import Client
from framekiln.client.pipeline_records import RemoteRun
from tests.support.clips import Clip, make_clip
from tests.support.counting_endpoint import CountingEndpoint
from tests.support.pipelines import step
from tests.support.receiver import Receiver
from tests.support.service import API_KEY, Service, running_service

RUNS = 10
KILLS = 5
SEED = 6
AT_A_TIME = 2
FILM = Clip(width=160, height=120, duration_s=Fraction(4))
VICTIMS = {
    "api": ("framekiln", " api"),
    "media worker": ("framekiln", " worker", "steps"),
    "control worker": ("framekiln", " worker", "control"),
    "database": ("postgres", "-D"),
}


def definition(endpoint_id: str) -> dict[str, Any]:
    """One step of each kind that lives somewhere else: in jobs, in the database, at an endpoint."""
    is_long = {"path": "look.metadata.duration_ms", "op": "gte", "value": 1000}
    windows = {"mode": "segment", "window_ms": 1000, "overlap_ms": 0}
    return {
        "steps": {
            "look": step("probe"),
            "long": step("filter", "look", when=is_long),
            "frames": step("sample_frames", "long", with_={"every_ms": 500}, granularity=windows),
            "ask": step("endpoint", "long", with_={"endpoint_id": endpoint_id}),
            "out": step("publish", "frames", "ask", with_={"formats": ["hls", "dash"]}),
        }
    }


@dataclass(frozen=True)
class Survival:
    """A service, one film on it, and the pipeline that goes over it."""

    service: Service
    client: Client
    endpoint: CountingEndpoint
    pipeline_id: str
    file_id: str

    def begin(self, name: str) -> str:
        """Begin a run; twice under the same name it is the same run."""
        run, _ = self.client.runs.create(self.pipeline_id, self.file_id, idempotency_key=name)
        return run.id

    def ended(self, run_id: str, *, within_s: float) -> RemoteRun:
        """Return a run when it has ended."""
        deadline = time.monotonic() + within_s

        def look(run: RemoteRun) -> None:
            assert time.monotonic() < deadline, f"{run}; log:\n{self.service.log_tail()}"

        return self.client.runs.wait(run_id, look)

    def ending(self, run: RemoteRun) -> dict[str, Any]:
        """Return how a run ended, and all that it wrote."""
        return {
            "run": (run.status, run.error),
            "steps": {each.key: each.status for each in run.steps},
            "outputs": {
                each["namespace"]: list(self.client.runs.outputs(run.id, each["namespace"]))
                for each in run.told["steps"]
            },
        }

    def ended_count(self) -> int:
        """Return how many runs have ended."""
        return sum(run.has_ended for run in self.client.runs.list(limit=100))


@contextmanager
def open_survival(folder: Path) -> Iterator[Survival]:
    """Start everything, with a film uploaded and ready."""
    with (
        Receiver() as receiver,
        running_service(folder, FRAMEKILN_FETCH_ALLOW="127.0.0.1") as service,
        Client(service.url, API_KEY) as client,
    ):
        endpoint = CountingEndpoint.at(receiver, seed=SEED, drop_one_in=6)
        registered = client.endpoints.create(receiver.url(), max_concurrency=AT_A_TIME)
        pipeline = client.pipelines.create("survives", definition(registered.id))
        film = client.files.upload(make_clip(folder / "film.mp4", FILM))
        client.files.wait_ready(film.id)
        yield Survival(service, client, endpoint, pipeline.id, film.id)


def kill_at_random(survival: Survival, *, run_count: int, kill_count: int) -> None:
    """Kill processes while runs end one after another; which and when follows from the seed."""
    numbers = random.Random(SEED)
    rounds = -(-kill_count // len(VICTIMS))
    victims = [each for _ in range(rounds) for each in numbers.sample([*VICTIMS], len(VICTIMS))]
    # The moments are told by how far the runs are, so that kills hit them on any machine.
    moments = sorted(numbers.randrange(run_count * 3 // 4) for _ in range(kill_count))
    for victim, moment in zip(victims, moments, strict=False):
        while survival.ended_count() < moment:
            time.sleep(0.1)
        time.sleep(numbers.uniform(0, 0.5))
        kill(survival.service, victim)


def kill(service: Service, victim: str) -> None:
    """Kill a process; one that is just being started again, as soon as it is there."""
    deadline = time.monotonic() + 30
    while True:
        with suppress(AssertionError, ProcessLookupError):
            os.kill(service.find_process(*VICTIMS[victim]), signal.SIGKILL)
            return
        assert time.monotonic() < deadline, f"no {victim} to be killed:\n{service.log_tail()}"
        time.sleep(0.1)


def check_survival(survival: Survival, *, run_count: int, kill_count: int) -> None:
    """Let runs go on while processes are killed, and compare them with one that was left alone."""
    client, endpoint = survival.client, survival.endpoint
    calm = survival.ending(survival.ended(survival.begin("calm"), within_s=60))
    assert calm["run"] == ("succeeded", None)
    assert [len(calm["outputs"][key]) for key in ("look", "frames", "ask", "out")] == [1, 2, 1, 1]

    endpoint.is_troubled = True
    names = [f"run {number}" for number in range(run_count)]
    begun: list[str] = []
    beginning = Thread(target=lambda: begun.extend(map(survival.begin, names)))
    beginning.start()
    kill_at_random(survival, run_count=run_count, kill_count=kill_count)
    beginning.join()
    endings = [survival.ending(survival.ended(run_id, within_s=120)) for run_id in begun]

    assert endings == [calm] * run_count
    # Nothing was begun twice, though requests were lost with their answers.
    assert len({*begun}) == run_count == len(list(client.runs.list())) - 1
    keys = endpoint.keys_by_attempt()
    assert all(len(each) == 1 for each in keys.values()), "an attempt had several keys"
    assert len(set().union(*keys.values())) == len(keys), "attempts had the same key"
    assert len({run_id for run_id, *_ in keys}) == run_count + 1
    assert endpoint.most_at_a_time <= AT_A_TIME


@pytest.mark.spec("3.3")
def test_runs_end_as_if_nothing_had_been(tmp_path: Path) -> None:
    with open_survival(tmp_path) as survival:
        check_survival(survival, run_count=RUNS, kill_count=KILLS)
