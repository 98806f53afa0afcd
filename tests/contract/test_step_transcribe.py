"""transcribe steps: real speech, from whole files and from windows of a file that still arrives."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from framekiln.client.local_tracks import cut_video
from framekiln.pipelines.runners.step_media import StepMedia
from framekiln.pipelines.runners.transcribe import Transcribe
from framekiln.pipelines.running.step_job import RunStep
from framekiln.speech.configuration import SpeechSettings
from framekiln.transcripts.recognizer import Recognizer
from tests.contract.conftest import TEMPLATE
from tests.support.clips import Clip, make_clip
from tests.support.pipelines import Line, open_line, step
from tests.support.postgres import PostgresServer
from tests.support.spoken import normal_words, read_clip
from tests.support.streams import begin, put_pieces
from tests.support.transcribing import ended, listening, ready_file, write_sound
from tests.support.uploads import media_worker

pytestmark = pytest.mark.spec("2.11")

WINDOWS = {"mode": "segment", "window_ms": 2000}


@pytest.fixture(scope="module")
async def line(
    postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Line]:
    folder = tmp_path_factory.mktemp("kiln")
    async with open_line(postgres, folder, template=TEMPLATE, runners={}) as line:
        parts = line.kiln.services
        media = StepMedia(parts.database, parts.files, parts.blobs)
        recognizer = Recognizer(SpeechSettings.of(parts.settings))
        runner = Transcribe(parts.database, media, parts.transcripts, recognizer)
        line.handler = RunStep(line.services.work, {"transcribe": runner})
        yield line
        await recognizer.close()


async def outputs(line: Line, run: Any) -> list[Any]:
    found: list[Any] = (await line.get(f"pipeline-runs/{run['id']}/outputs/it", limit=100))[
        "outputs"
    ]
    return found


def texts(output: Any, kind: str) -> list[str]:
    return [each["text"] for each in output["annotations"] if each["kind"] == kind]


async def test_a_file_is_transcribed_once_for_all_who_ask(line: Line, tmp_path: Path) -> None:
    clip = read_clip("austen_0870")
    path = write_sound(tmp_path / "said.mp4", clip.samples)
    steps = {"it": step("transcribe"), "parts": step("transcribe", granularity=WINDOWS)}
    async with listening(line.kiln.services):
        file = await ready_file(line.kiln, await asyncio.to_thread(path.read_bytes))
        run = await line.run(await line.pipeline({"steps": steps}), file["id"])
        await line.tick()
        await line.work()
        assert (await line.statuses(run))["it"] == "running"
        listed = await line.get("transcriptions")
        [transcription] = listed["transcriptions"]
        await ended(line.kiln, transcription["id"])
    line.clock.advance(timedelta(seconds=5))
    await line.tick()
    await line.work()
    assert (await line.statuses(run))[""] == "succeeded"
    [whole] = await outputs(line, run)
    metadata, words = whole["output"]["metadata"], texts(whole["output"], "speech.word")
    assert (metadata["language"], metadata["engine"]) == ("en", "whisper-base")
    assert metadata["truncated"] is False
    assert metadata["word_count"] == len(words)
    assert metadata["segment_count"] == len(texts(whole["output"], "speech.segment"))
    said = normal_words(clip.text)
    assert len(set(said) & set(normal_words(" ".join(words)))) > 0.8 * len(set(said))
    parts = (await line.get(f"pipeline-runs/{run['id']}/outputs/parts", limit=100))["outputs"]
    assert len(parts) > 1
    assert [word for part in parts for word in texts(part["output"], "speech.word")] == words
    for part in parts:
        window = part["window"]
        for each in part["output"]["annotations"]:
            assert window["start_ms"] <= each["start_ms"] <= each["end_ms"] <= window["end_ms"]


async def test_windows_are_heard_while_a_file_arrives(line: Line, tmp_path: Path) -> None:
    clip = read_clip("austen_0870")
    path = write_sound(tmp_path / "said.mp4", clip.samples)
    tracks = await asyncio.to_thread(cut_video, path, tmp_path)
    file_id = await begin(line.kiln, "audio")
    window = {"mode": "segment", "window_ms": 3000}
    steps = {"it": step("transcribe", granularity=window)}
    run = await line.run(await line.pipeline({"steps": steps}), file_id)
    await put_pieces(line.kiln, file_id, tracks[0])
    await line.tick()
    await line.work()
    assert (await line.shown(run))["status"] == "running"
    found = await outputs(line, run)
    assert found
    end_ms = found[-1]["window"]["end_ms"]
    heard = {word for each in found for word in texts(each["output"], "speech.word")}
    said = {word.text for word in clip.words if word.start_ms < end_ms - 500}
    assert len(said & set(normal_words(" ".join(heard)))) > 0.7 * len(said)


async def test_nothing_is_said_without_sound(line: Line, tmp_path: Path) -> None:
    silent = make_clip(tmp_path / "a.mp4", Clip(audio_codec=None, duration_s=Fraction(1)))
    async with media_worker(line.kiln.services):
        file = await ready_file(line.kiln, await asyncio.to_thread(silent.read_bytes))
    run = await line.run(await line.pipeline({"steps": {"it": step("transcribe")}}), file["id"])
    await line.work()
    assert (await line.statuses(run))[""] == "succeeded"
    [output] = await outputs(line, run)
    assert output["output"]["metadata"] == {
        "language": None,
        "engine": None,
        "segment_count": 0,
        "word_count": 0,
        "truncated": False,
    }
