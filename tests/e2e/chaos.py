"""kill -9 of every process, again and again, while runs go on: they end as if nothing had been.

The tests do it for a few runs. By hand it takes any number, and says what it saw:

    python -m tests.e2e.chaos --runs 200 --kills 60
"""

import argparse
import hashlib
import json
import random
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from threading import Event, Thread
from typing import Any

from framekiln.client import Client
from framekiln.client.model import RemoteRun, RemoteStep
from tests.support.clips import Clip, make_clip
from tests.support.endpoint_process import EndpointProcess, running_endpoint
from tests.support.endpoint_server import AT_ONCE, BOX, CALM, LATER
from tests.support.pipelines import step
from tests.support.service import Service, running_service

SEED = 6
LIMITS = {AT_ONCE: 2, LATER: 3}
"""How many requests at a time each address is registered for."""
FILM = Clip(width=64, height=64, duration_s=Fraction(4))
ENDPOINT = "endpoint"
VICTIMS: Mapping[str, tuple[str, ...]] = {
    "api": ("framekiln", " api"),
    "media worker": ("framekiln", " worker", "steps"),
    "control worker": ("framekiln", " worker", "control"),
    "database": ("postgres", "-D"),
    ENDPOINT: (),
}
CORRECTED = {
    "annotations": [
        {
            "kind": "face",
            "start_ms": 0,
            "end_ms": 1000,
            "keyframes": [{"t_ms": 0, **BOX}, {"t_ms": 800, **BOX, "x": 0.4}],
        },
        {"kind": "voice", "start_ms": 1200, "end_ms": 1500},
    ]
}
"""What the reviewer says: the box moves, and something has to be muted as well."""
OPEN_AT_A_TIME = 20
_PAUSE_S = 0.5
_ENDED = ("succeeded", "failed", "skipped", "cancelled")
_LAST_ATTEMPT = 3


def definition(at_once_id: str, later_id: str) -> dict[str, Any]:
    """One step of each kind that lives somewhere else: jobs, rows, endpoints, people, renders."""
    is_long = {"path": "look.metadata.duration_ms", "op": "gte", "value": 1000}
    windows = {"mode": "segment", "window_ms": 1000, "overlap_ms": 0}
    return {
        "steps": {
            "look": step("probe"),
            "long": step("filter", "look", when=is_long),
            "frames": step("sample_frames", "long", with_={"every_ms": 500}, granularity=windows),
            "ask": step("endpoint", "long", with_={"endpoint_id": at_once_id}),
            "find": step("endpoint", "frames", with_={"endpoint_id": later_id}),
            "check": step("review", "find"),
            "hide": step("redact_render", "check", with_={"kinds": ["face", "voice"]}),
            "out": step("publish", "hide", "ask", with_={"formats": ["hls", "dash"]}),
        }
    }


@dataclass
class ChaosScenario:
    """A service, one film on it, the pipeline that goes over it, and what is killed meanwhile."""

    folder: Path
    service: Service
    client: Client
    endpoint: EndpointProcess
    pipeline_id: str
    file_id: str
    retry_within_s: float
    """So long a run may take after the last kill."""
    kills: Counter[str] = field(default_factory=Counter)

    def begin(self, name: str) -> str:
        """Begin a run; twice under the same name it is the same run."""
        run, _ = self.client.runs.create(
            self.pipeline_id, self.file_id, idempotency_key=name, external_id=name
        )
        return run.id

    def ended(self, run_id: str) -> RemoteRun:
        """Return a run when it has ended."""
        deadline = time.monotonic() + self.retry_within_s

        def look(run: RemoteRun) -> None:
            assert time.monotonic() < deadline, f"{run}; log:\n{self.service.log_tail()}"

        return self.client.runs.wait(run_id, look)

    def ending(self, run: RemoteRun) -> dict[str, Any]:
        """Return how a run ended, and all that it left."""
        outputs = {
            each["namespace"]: list(self.client.runs.outputs(run.id, each["namespace"]))
            for each in run.raw["steps"]
        }
        for each in outputs["hide"]:
            self._name_by_content(each["output"]["metadata"])
        return {
            "run": (run.status, run.error),
            "steps": {each.key: each.status for each in run.steps},
            "outputs": outputs,
        }

    def ended_steps(self) -> int:
        """Return how many steps of all runs have ended."""
        return sum(each.status in _ENDED for run in self._runs() for each in run.steps)

    def open_count(self) -> int:
        """Return how many runs go on."""
        return sum(not run.has_ended for run in self._runs())

    def kill(self, victim: str) -> None:
        """Kill a process; one that is just being started again, as soon as it is there."""
        if victim == ENDPOINT:
            self._spare_last_attempts()
            self.endpoint.kill()
        else:
            self.service.kill(*VICTIMS[victim])
        self.kills[victim] += 1

    def films(self) -> Counter[str]:
        """Count the renders of all redactions by status."""
        return Counter(render.status for render in self.client.renders.list())

    def _spare_last_attempts(self) -> None:
        """Wait: three attempts without an answer are a failure, and rightly so."""
        deadline = time.monotonic() + self.retry_within_s
        while any(_is_last_attempt(each) for run in self._runs() for each in run.steps):
            assert time.monotonic() < deadline, f"no end of it:\n{self.service.log_tail()}"
            time.sleep(_PAUSE_S)

    def _runs(self) -> Iterator[RemoteRun]:
        return self.client.runs.list(limit=100)

    def _name_by_content(self, metadata: dict[str, Any]) -> None:
        """Let a render be known by what it shows: each run has one of its own."""
        render_id = metadata["render_id"]
        film = self.folder / "film of a run.mp4"
        self.client.renders.download(render_id, film)
        metadata["render_id"] = hashlib.sha256(film.read_bytes()).hexdigest()
        metadata["output_url"] = metadata["output_url"].replace(render_id, "")


def _is_last_attempt(each: RemoteStep) -> bool:
    next_attempt = each.attempt + (each.status == "ready")
    return each.status in ("ready", "running") and next_attempt >= _LAST_ATTEMPT


class ReviewerThread(Thread):
    """A person who approves everything, with corrections, and tries again while nobody answers."""

    def __init__(self, client: Client) -> None:
        super().__init__(name="reviewer")
        self._client = client
        self._is_over = Event()
        self.error: Exception | None = None

    def run(self) -> None:
        try:
            while not self._is_over.wait(_PAUSE_S):
                for review in list(self._client.reviews.list(status="pending")):
                    self._client.reviews.approve(review.id, CORRECTED)
        except Exception as error:
            self.error = error

    def __enter__(self) -> "ReviewerThread":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self.join()
        assert self.error is None, repr(self.error)


@contextmanager
def open_chaos(service: Service, folder: Path, *, retry_within_s: float) -> Iterator[ChaosScenario]:
    """Prepare everything on a service: a film that is ready, an endpoint, a reviewer at work."""
    with (
        running_endpoint(folder) as endpoint,
        service.open_account("storm") as account,
        Client(service.url, account.api_key, retry_within_s=retry_within_s) as client,
        ReviewerThread(client),
    ):
        registered = [
            client.endpoints.create(endpoint.url(path), max_concurrency=limit)
            for path, limit in LIMITS.items()
        ]
        pipeline = client.pipelines.create("storm", definition(*(each.id for each in registered)))
        film = client.files.upload(make_clip(folder / "film.mp4", FILM))
        client.files.wait_ready(film.id)
        yield ChaosScenario(folder, service, client, endpoint, pipeline.id, film.id, retry_within_s)


def kill_at_random(storm: ChaosScenario, *, run_count: int, kill_count: int) -> None:
    """Kill processes while runs go on; which and when follows from the seed."""
    numbers = random.Random(SEED)
    rounds = -(-kill_count // len(VICTIMS))
    victims = [each for _ in range(rounds) for each in numbers.sample([*VICTIMS], len(VICTIMS))]
    # Kills follow the progress of the runs, so that they hit the same moments on any machine.
    step_count = run_count * len(definition("", "")["steps"])
    moments = sorted(numbers.randrange(step_count * 9 // 10) for _ in range(kill_count))
    for victim, moment in zip(victims, moments, strict=False):
        while storm.ended_steps() < moment:
            time.sleep(_PAUSE_S)
        time.sleep(numbers.uniform(0, 0.5))
        storm.kill(victim)


def run_chaos(storm: ChaosScenario, *, run_count: int, kill_count: int) -> list[str]:
    """Let runs go on while processes are killed; return their ids."""
    begun: list[str] = []

    def begin() -> None:
        for number in range(run_count):
            begun.append(storm.begin(f"run {number}"))
            # Not all at once: they would all come to the same step at the same time.
            while storm.open_count() >= OPEN_AT_A_TIME:
                time.sleep(_PAUSE_S)

    beginning = Thread(target=begin, name="beginning")
    beginning.start()
    kill_at_random(storm, run_count=run_count, kill_count=kill_count)
    beginning.join()
    assert len(begun) == run_count, "something went wrong while runs were begun"
    return begun


def check_chaos(storm: ChaosScenario, *, run_count: int, kill_count: int) -> dict[str, Any]:
    """Compare runs in a storm with one that was left alone; return what there is to say of it."""
    began_s = time.monotonic()
    calm = storm.ending(storm.ended(storm.begin(CALM)))
    assert calm["run"] == ("succeeded", None)
    counts = {key: len(found) for key, found in calm["outputs"].items() if found}
    assert counts == {"look": 1, "frames": 2, "ask": 1, "find": 1, "check": 1, "hide": 1, "out": 1}

    begun = run_chaos(storm, run_count=run_count, kill_count=kill_count)
    ended = [storm.ended(run_id) for run_id in begun]
    report = report_of(storm, ended)
    report["seconds"] = round(time.monotonic() - began_s)
    for run in ended:
        assert storm.ending(run) == calm, run.raw
    check_counts(storm, {*begun}, run_count=run_count)
    return report


def check_counts(storm: ChaosScenario, run_ids: set[str], *, run_count: int) -> None:
    """See that nothing was done twice, and no more at a time than is allowed."""
    notes = storm.endpoint.log
    # Nothing was begun twice, though requests were lost with their answers.
    assert len(run_ids) == run_count == len(list(storm.client.runs.list(limit=100))) - 1
    assert storm.films() == {"complete": run_count + 1}
    keys = notes.keys_by_attempt()
    assert all(len(each) == 1 for each in keys.values()), "an attempt had several keys"
    assert len(set().union(*keys.values())) == len(keys), "attempts had the same key"
    assert len({(run_id, key) for run_id, key, _ in keys}) == 2 * (run_count + 1)
    for path, most in notes.max_concurrency().items():
        assert most <= LIMITS[path], f"{most} at a time at {path}"


def report_of(storm: ChaosScenario, ended: list[RemoteRun]) -> dict[str, Any]:
    """Return what a storm was like."""
    notes = storm.endpoint.log
    attempts = Counter(f"{each.key} {each.attempt}" for run in ended for each in run.steps)
    return {
        "runs": len(ended),
        "endings": dict(Counter(run.status for run in ended)),
        "kills": dict(storm.kills),
        "attempts of steps": dict(sorted(attempts.items())),
        "attempts sent": len(notes.keys_by_attempt()),
        "requests": notes.request_count(),
        "most at a time": notes.max_concurrency(),
        "limits": LIMITS,
        "callbacks": notes.callback_counts(),
        "films": dict(storm.films()),
    }


def main() -> None:
    """Raise a storm and print what it was like."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--runs", type=int, default=200)
    options.add_argument("--kills", type=int, default=60)
    options.add_argument("--folder", type=Path, help="kept; without it, a new one that is not")
    options.add_argument(
        "--retry-within", type=float, default=3600, help="seconds after the last kill"
    )
    asked = options.parse_args()
    with tempfile.TemporaryDirectory() as passing:
        folder = asked.folder or Path(passing)
        folder.mkdir(parents=True, exist_ok=True)
        with (
            running_service(folder, FRAMEKILN_FETCH_ALLOW="127.0.0.1") as service,
            open_chaos(service, folder, retry_within_s=asked.retry_within) as storm,
        ):
            report = check_chaos(storm, run_count=asked.runs, kill_count=asked.kills)
    print(json.dumps(report, indent=2))  # noqa: T201  # for whoever started it


if __name__ == "__main__":
    main()
