"""The body of a request to an endpoint, field by field as in spec 4.7.

`media` has signed URLs of the run's media, which need no API key until they expire (spec 5).
"""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final
from urllib.parse import urlencode

from framekiln.files.model import File, FileStatus
from framekiln.identity.signatures.tokens import MEDIA_TOKEN_LIFETIME, AccessTokens
from framekiln.pipelines.definition.windows import Window
from framekiln.pipelines.endpoints.worker import TakenAttempt
from framekiln.pipelines.outputs.inputs import inputs_to_json
from framekiln.pipelines.schema.records import as_json

CALLBACK_PATH = "/api/v1/pipeline-callbacks/"
MAX_FRAMES: Final = 1000
_STREAM: Final = "stream/media.mp4"


class RequestBodies:
    """Writes the bodies of requests; each has one token, for the file and all its parts."""

    def __init__(self, tokens: AccessTokens, *, public_url: str) -> None:
        self._tokens = tokens
        self._public_url = public_url

    async def write(self, taken: TakenAttempt) -> str:
        """Return the exact text that is signed and sent."""
        media = await self._media(taken)
        # In a thread, because ten thousand annotations take a while.
        return await asyncio.to_thread(self._text, taken, media)

    def _text(self, taken: TakenAttempt, media: Mapping[str, Any]) -> str:
        run, attempt = taken.run, taken.attempt
        deadline_at = taken.endpoint.callback_deadline(taken.sent_at).isoformat()
        callback_url = f"{self._public_url}{CALLBACK_PATH}{taken.endpoint.callback_id(attempt.id)}"
        body = {
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
            "window": as_json(taken.unit.window),
            "media": media,
            "metadata": inputs_to_json(taken.inputs),
            "callback": {"url": callback_url, "expires_at": deadline_at},
        }
        return json.dumps(body, ensure_ascii=False, allow_nan=False)

    async def _media(self, taken: TakenAttempt) -> dict[str, Any]:
        """Return `media` of a request. Media that is not available is null.

        While the file is arriving, the media of the window is available.
        """
        file = taken.file
        expires_at = media_expiry(file, taken.sent_at)
        path = f"/api/v1/files/{file.id}"
        token = await self._tokens.sign_media(file.organization_id, path, expires_at)
        query = urlencode({"media_token": token})

        def url(part: str, **params: int) -> str:
            more = f"{urlencode(params)}&" if params else ""
            return f"{self._public_url}{path}/{part}?{more}{query}"

        audio = next((each["track_id"] for each in taken.tracks if each["type"] == "audio"), None)
        return {
            "expires_at": expires_at.isoformat(),
            **(
                _ready_urls(url, file, audio)
                if file.status is FileStatus.READY
                else _window_urls(url, taken.unit.window, audio)
            ),
            "frames": [
                {"t_ms": at_ms, "url": url(f"frames/{at_ms}.jpg")}
                for at_ms in sample_evenly(taken.frames_ms)
            ],
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


def _ready_urls(url: Callable[..., str], file: File, audio: int | None) -> dict[str, str | None]:
    return {
        "source_url": url("content") if file.has_source else None,
        "index_url": url("index"),
        "audio_url": None if audio is None else url(f"tracks/{audio}"),
    }


def _window_urls(
    url: Callable[..., str], window: Window | None, audio: int | None
) -> dict[str, str | None]:
    """Return URLs that work now and also when the file is ready."""
    if window is None:
        return dict.fromkeys(("source_url", "index_url", "audio_url"))
    span = {"from_ms": window.media_start_ms, "to_ms": window.end_ms}
    return {
        "source_url": url(_STREAM, **span),
        # An index describes complete track files, and these still grow.
        "index_url": None,
        "audio_url": None if audio is None else url(_STREAM, **span, track_id=audio),
    }


def media_expiry(file: File, now: datetime) -> datetime:
    """Return when the URLs expire: after four hours, or with the file."""
    latest = (now + MEDIA_TOKEN_LIFETIME).replace(microsecond=0)
    return min(latest, file.expires_at) if file.expires_at is not None else latest


def sample_evenly(times_ms: Sequence[int]) -> list[int]:
    """Return at most 1000 of the times, evenly spread over the file."""
    count = len(times_ms)
    if count <= MAX_FRAMES:
        return list(times_ms)
    return [times_ms[number * count // MAX_FRAMES] for number in range(MAX_FRAMES)]
