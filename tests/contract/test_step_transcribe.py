"""transcribe steps: real speech, from whole files and from windows of a file that still arrives."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from framekiln.client.uploads import split_video
from framekiln.pipelines.execution.handlers import RunStep
from framekiln.pipelines.execution.step_media import StepMedia
from framekiln.pipelines.steps.transcribe import TranscribeRunner
from framekiln.speech.configuration import SpeechSettings
from framekiln.transcripts.recognizer import Recognizer
from tests.contract.conftest import TEMPLATE
from tests.support.clips import Clip, make_clip
from tests.support.pipelines import PipelineHarness, open_pipelines, step
from tests.support.postgres import PostgresServer
from tests.support.speech_clips import normal_words, read_clip
from tests.support.streams import begin, put_fragments
from tests.support.transcriptions import (
    ready_file,
    running_transcription_worker,
    wait_ended,
    write_sound,
)
from tests.support.uploads import running_file_worker

pytestmark = pytest.mark.spec("2.11")

WINDOWS = {"mode": "segment", "window_ms": 2000}


@pytest.fixture(scope="module")
async def pipelines(
    postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[PipelineHarness]:
    folder = tmp_path_factory.mktemp("kiln")
    async with open_pipelines(postgres, folder, template=TEMPLATE, runners={}) as pipelines:
        parts = pipelines.app.services
        media = StepMedia(parts.database, parts.files, parts.blobs)
        recognizer = Recognizer(SpeechSettings.of(parts.settings))
        runner = TranscribeRunner(parts.database, media, parts.transcripts, recognizer)
        pipelines.handler = RunStep(pipelines.services.worker, {"transcribe": runner})
        yield pipelines
        await recognizer.close()


async def outputs(pipelines: PipelineHarness, run: Any) -> list[Any]:
    found: list[Any] = (await pipelines.get(f"pipeline-runs/{run['id']}/outputs/it", limit=100))[
        "outputs"
    ]
    return found


def texts(output: Any, kind: str) -> list[str]:
    return [each["text"] for each in output["annotations"] if each["kind"] == kind]


async def test_several_steps_share_one_transcription(
    pipelines: PipelineHarness, tmp_path: Path
) -> None:
    clip = read_clip("austen_0870")
    path = write_sound(tmp_path / "said.mp4", clip.samples)
    steps = {"it": step("transcribe"), "parts": step("transcribe", granularity=WINDOWS)}
    async with running_transcription_worker(pipelines.app.services):
        file = await ready_file(pipelines.app, await asyncio.to_thread(path.read_bytes))
        run = await pipelines.start_run(
            await pipelines.create_pipeline({"steps": steps}), file["id"]
        )
        await pipelines.tick()
        await pipelines.run_all_jobs()
        assert (await pipelines.statuses(run))["it"] == "running"
        listed = await pipelines.get("transcriptions")
        [transcription] = listed["transcriptions"]
        await wait_ended(pipelines.app, transcription["id"])
    pipelines.clock.advance(timedelta(seconds=5))
    await pipelines.tick()
    await pipelines.run_all_jobs()
    assert (await pipelines.statuses(run))[""] == "succeeded"
    [whole] = await outputs(pipelines, run)
    metadata, words = whole["output"]["metadata"], texts(whole["output"], "speech.word")
    assert (metadata["language"], metadata["engine"]) == ("en", "whisper-base")
    assert metadata["truncated"] is False
    assert metadata["word_count"] == len(words)
    assert metadata["segment_count"] == len(texts(whole["output"], "speech.segment"))
    said = normal_words(clip.text)
    assert len(set(said) & set(normal_words(" ".join(words)))) > 0.8 * len(set(said))
    parts = (await pipelines.get(f"pipeline-runs/{run['id']}/outputs/parts", limit=100))["outputs"]
    assert len(parts) > 1
    assert [word for part in parts for word in texts(part["output"], "speech.word")] == words
    for part in parts:
        window = part["window"]
        for each in part["output"]["annotations"]:
            assert window["start_ms"] <= each["start_ms"] <= each["end_ms"] <= window["end_ms"]


async def test_windows_are_transcribed_during_the_upload(
    pipelines: PipelineHarness, tmp_path: Path
) -> None:
    clip = read_clip("austen_0870")
    path = write_sound(tmp_path / "said.mp4", clip.samples)
    tracks = await asyncio.to_thread(split_video, path, tmp_path)
    file_id = await begin(pipelines.app, "audio")
    window = {"mode": "segment", "window_ms": 3000}
    steps = {"it": step("transcribe", granularity=window)}
    run = await pipelines.start_run(await pipelines.create_pipeline({"steps": steps}), file_id)
    await put_fragments(pipelines.app, file_id, tracks[0])
    await pipelines.tick()
    await pipelines.run_all_jobs()
    assert (await pipelines.get_run(run))["status"] == "running"
    found = await outputs(pipelines, run)
    assert found
    end_ms = found[-1]["window"]["end_ms"]
    heard = {word for each in found for word in texts(each["output"], "speech.word")}
    said = {word.text for word in clip.words if word.start_ms < end_ms - 500}
    assert len(said & set(normal_words(" ".join(heard)))) > 0.7 * len(said)


async def test_a_file_without_audio_has_an_empty_transcript(
    pipelines: PipelineHarness, tmp_path: Path
) -> None:
    silent = make_clip(tmp_path / "a.mp4", Clip(audio_codec=None, duration_s=Fraction(1)))
    async with running_file_worker(pipelines.app.services):
        file = await ready_file(pipelines.app, await asyncio.to_thread(silent.read_bytes))
    run = await pipelines.start_run(
        await pipelines.create_pipeline({"steps": {"it": step("transcribe")}}), file["id"]
    )
    await pipelines.run_all_jobs()
    assert (await pipelines.statuses(run))[""] == "succeeded"
    [output] = await outputs(pipelines, run)
    assert output["output"]["metadata"] == {
        "language": None,
        "engine": None,
        "segment_count": 0,
        "word_count": 0,
        "truncated": False,
    }
