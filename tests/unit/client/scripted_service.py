"""Stands in for the service: sends prepared responses, and records requests."""

import json
from typing import Any

import httpx

from framekiln.client import Client
from tests.support.timeouts import TIMEOUT_S


def step(key: str, status: str, **more: Any) -> dict[str, Any]:
    """Return a step as the service returns it."""
    times = dict.fromkeys(("ready_at", "started_at", "completed_at", "deadline_at"))
    fields = {"id": None, "step_key": key, "namespace": key, "type": "probe", "status": status}
    return {**fields, "attempt": 1, "watermark_ms": None, "error": None, **times, **more}


def run(status: str, *steps: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return a run as the service returns it."""
    fields = {
        "id": "r",
        "status": status,
        "pipeline_id": "p",
        "pipeline_version": 1,
        "file_id": "f",
    }
    times = dict.fromkeys(("created_at", "started_at", "completed_at"))
    return {**fields, "batch_id": None, "error": None, "steps": list(steps), **times, **more}


def pipeline(name: str, pipeline_id: str = "p") -> dict[str, Any]:
    """Return a pipeline as the service returns it."""
    return {"id": pipeline_id, "name": name, "latest_version": 1, "archived_at": None}


class ScriptedService:
    """Gives prepared answers, one after the other; an exception is a connection that breaks."""

    def __init__(self, *answers: dict[str, Any] | tuple[int, dict[str, Any]] | Exception) -> None:
        self._answers = list(answers)
        self.requests: list[httpx.Request] = []
        self.pauses_s: list[float] = []
        transport = httpx.MockTransport(self._answer)
        self.client = Client(
            "http://service",
            "ef_a_b",
            retry_within_s=TIMEOUT_S,
            transport=transport,
            sleep=self.pauses_s.append,
        )

    @property
    def lines(self) -> list[str]:
        """What was asked: methods and addresses."""
        return [f"{each.method} {each.url.raw_path.decode()}" for each in self.requests]

    def body(self, number: int = -1) -> Any:
        """What one of the requests said."""
        return json.loads(self.requests[number].content)

    def _answer(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        status, body = answer if isinstance(answer, tuple) else (200, answer)
        return httpx.Response(status, json=body)
