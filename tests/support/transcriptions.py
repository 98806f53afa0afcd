"""Files with speech, and a worker that transcribes them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from av.audio.stream import AudioStream

from framekiln.services import Services
from framekiln.speech.model import Samples
from framekiln.speech.transcriber import Transcriber
from framekiln.transcripts.recognizer import Recognizer
from framekiln.worker.loop import run_worker
from tests.support.app import AppHarness
from tests.support.background import in_background
from tests.support.uploads import upload_file, wait_processed

TRANSCRIPTIONS = "/api/v1/transcriptions"
RATE_HZ = 16_000


# Loading a model takes as long as recognizing a sentence.
_load_once = cache(Transcriber.open)


def _loaded(recognizer: Recognizer) -> Transcriber:
    settings = recognizer.settings
    # Most services have no models in their own folder.
    folders = tuple(folder for folder in settings.folders if folder.is_dir())
    return _load_once(replace(settings, folders=folders))


@asynccontextmanager
async def running_transcription_worker(services: Services) -> AsyncIterator[None]:
    """Run a worker that processes and transcribes files, and stop it afterwards.

    All of them use one model, as all jobs of a worker do.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Recognizer, "_opened", _loaded)
        async with in_background(run_worker(services, queues=["files", "speech"], concurrency=1)):
            yield


async def ready_file(app: AppHarness, data: bytes) -> dict[str, Any]:
    """Upload a video or audio file and return it when it is ready."""
    uploaded = await upload_file(app, data)
    found = await wait_processed(app, uploaded["id"])
    assert found["status"] == "ready", found
    return found


async def transcribe(app: AppHarness, file_id: str, **body: Any) -> dict[str, Any]:
    """Transcribe a file, and return the transcription when it has ended."""
    answer = await app.client.post(f"/api/v1/files/{file_id}/transcribe", json=body)
    assert answer.status_code in (200, 201), answer.text
    return await wait_ended(app, answer.json()["id"])


async def wait_ended(app: AppHarness, transcription_id: str) -> dict[str, Any]:
    path = f"{TRANSCRIPTIONS}/{transcription_id}"
    await app.get_in_parts(f"{path}/progress")
    found: dict[str, Any] = (await app.client.get(path)).json()
    assert found["status"] in ("complete", "failed")
    return found


def write_sound(path: Path, samples: Samples, *, start_ms: int = 0, codec: str = "aac") -> Path:
    """Write 16 kHz mono samples as a file whose audio begins at `start_ms`."""
    with av.open(path, "w") as container:
        stream = container.add_stream(codec, rate=RATE_HZ, layout="mono")
        assert isinstance(stream, AudioStream)
        for first in range(0, len(samples), 1024):
            block = np.ascontiguousarray(samples[None, first : first + 1024], np.float32)
            frame = av.AudioFrame.from_ndarray(block, "fltp", "mono")
            frame.sample_rate, frame.time_base = RATE_HZ, Fraction(1, RATE_HZ)
            frame.pts = first + start_ms * RATE_HZ // 1000
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return path
