"""The body of a request to an endpoint, field by field as in spec 4.7. Pure."""

import json
from collections.abc import Mapping
from typing import Any

from framekiln.files.model import FileStatus
from framekiln.pipelines.endpoints.worker import TakenAttempt
from framekiln.pipelines.outputs.inputs import inputs_to_json

CALLBACK_PATH = "/api/v1/pipeline-callbacks/"


def request_body(taken: TakenAttempt, *, media: Mapping[str, Any], public_url: str) -> str:
    """Return the exact text that is signed and sent."""
    return json.dumps(_body(taken, media, public_url), ensure_ascii=False, allow_nan=False)


def _body(taken: TakenAttempt, media: Mapping[str, Any], public_url: str) -> dict[str, Any]:
    run, attempt = taken.run, taken.attempt
    deadline_at = taken.endpoint.callback_deadline(taken.sent_at).isoformat()
    secret = taken.endpoint.callback_id(attempt.id)
    return {
        "pipeline_id": str(run.pipeline_id),
        "pipeline_version": run.pipeline_version,
        "pipeline_run_id": str(run.id),
        "step_run_id": str(attempt.step_run_id),
        "step_key": attempt.step_key,
        "namespace": taken.definition.steps[attempt.step_key].namespace,
        "attempt": taken.unit.attempt,
        "idempotency_key": attempt.idempotency_key,
        "external_id": run.external_id,
        "deadline_at": deadline_at,
        "file": _file(taken),
        "window": _window(taken),
        "media": media,
        "metadata": inputs_to_json(taken.inputs),
        "callback": {"url": f"{public_url}{CALLBACK_PATH}{secret}", "expires_at": deadline_at},
    }


def _file(taken: TakenAttempt) -> dict[str, Any]:
    file = taken.file
    is_ready = file.status is FileStatus.READY
    return {
        "id": str(file.id),
        "filename": file.filename,
        "status": "ready" if is_ready else "receiving",
        "duration_ms": file.duration_ms,
        "tracks": list(taken.tracks),
    }


def _window(taken: TakenAttempt) -> dict[str, int] | None:
    window = taken.unit.window
    if window is None:
        return None
    return {
        "index": window.index,
        "start_ms": window.start_ms,
        "end_ms": window.end_ms,
        "overlap_ms": window.overlap_ms,
    }
