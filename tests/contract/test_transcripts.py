"""Transcriptions cut into slices: every word once and in its time, whatever happens to workers."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pytest

from framekiln.kit.ids import FileId, TranscriptionId
from framekiln.media.audio.speech_samples import write_samples
from framekiln.media.errors import UnreadableMedia
from framekiln.speech.model import SAMPLE_HZ
from framekiln.transcripts.model import Transcription, TranscriptionRequest
from framekiln.transcripts.worker import MAX_TAKES, PreparedAudio
from framekiln.webhooks.model import NewSubscription, Subscription
from framekiln.webhooks.topics import TOPICS
from tests.support.app import AppHarness
from tests.support.clips import Clip, make_clip
from tests.support.jobs import end_attempts, wait_until
from tests.support.killed_workers import kill_worker_with_job
from tests.support.speech_clips import normal_words, read_clip, score
from tests.support.transcriptions import (
    TRANSCRIPTIONS,
    ready_file,
    running_transcription_worker,
    transcribe,
    wait_ended,
    write_sound,
)
from tests.support.uploads import FILES, blob_names

# So late that a slice ends in the middle of what is said.
LATE_MS = 18_500
NOTHING = np.zeros(3 * SAMPLE_HZ, np.float32)

VICTIM = """
import asyncio, sys
from pathlib import Path
from framekiln.services import Services
from framekiln.settings import Settings
from framekiln.transcripts.recognizer import Recognizer
from framekiln.worker.loop import run_worker

async def hold(*args, **options):
    print("holding", flush=True)
    await asyncio.sleep(600)

async def main():
    Recognizer.transcribe_slice = hold
    async with Services.open(Settings(data=Path(sys.argv[2])), sys.argv[1]) as services:
        await run_worker(services, queues=["speech"], concurrency=1)

asyncio.run(main())
"""


@dataclass(frozen=True)
class SilentFile:
    """A file without speech, its transcription, and the organization that gets its events."""

    file_id: FileId
    made: dict[str, Any]
    hook: Subscription


@pytest.fixture(scope="module")
async def silence(app: AppHarness, tmp_path_factory: pytest.TempPathFactory) -> SilentFile:
    caller = await app.services.identity.authenticate(app.key)
    hook = await app.services.webhooks.create(
        NewSubscription(
            organization_id=caller.organization.id,
            api_key_id=caller.api_key_id,
            url="https://hooks.example.com/",
            events=("transcription.*",),
        )
    )
    path = write_sound(tmp_path_factory.mktemp("silent") / "silent.m4a", NOTHING)
    async with running_transcription_worker(app.services):
        file = await ready_file(app, path.read_bytes())
        made = await transcribe(app, file["id"])
    return SilentFile(FileId(UUID(file["id"])), made, hook)


async def started(app: AppHarness, file_id: FileId, language: str | None = None) -> Transcription:
    caller = await app.services.identity.authenticate(app.key)
    found, _ = await app.services.transcripts.start(
        caller, TranscriptionRequest(file_id, language=language)
    )
    return found


async def test_slices_of_a_late_track_are_joined_although_a_worker_was_killed(
    app: AppHarness, tmp_path: Path
) -> None:
    clip = read_clip("austen_0870")
    source = write_sound(tmp_path / "late.mp4", clip.samples, start_ms=LATE_MS)
    async with running_transcription_worker(app.services):
        file = await ready_file(app, source.read_bytes())
    started_now = await started(app, FileId(UUID(file["id"])), language="en")
    path = f"{TRANSCRIPTIONS}/{started_now.id}"
    await kill_worker_with_job(app, VICTIM)
    assert (await app.client.get(path)).json()["status"] == "transcribing"
    waiting = await app.client.get(f"{path}/fragments/0")
    assert (waiting.status_code, waiting.json()["error"]) == (409, "transcription_not_complete")
    prepared = samples_of(app, file["id"])
    assert len(prepared) == 1

    async def is_swept() -> bool:
        return await app.services.jobs.sweep_stalled(1.0) > 0

    await wait_until(is_swept)
    async with running_transcription_worker(app.services):
        made = await wait_ended(app, str(started_now.id))
    # Decoding was not done again: whoever takes the slice over reads the samples that are there.
    assert samples_of(app, file["id"]) in (prepared, set())
    assert (made["status"], made["language"]) == ("complete", "en")
    assert made["work_slice_ms"] < made["duration_ms"] < 2 * made["work_slice_ms"]
    assert made["duration_ms"] >= clip.duration_ms + LATE_MS
    organization_id = (await app.services.identity.authenticate(app.key)).organization.id
    said = await app.services.transcripts.for_file(organization_id, FileId(UUID(file["id"])))
    found = score(clip, said.shifted(-LATE_MS))
    assert found.errors / found.word_count <= 0.15
    assert np.median(np.abs(found.late_ms)) <= 150
    await check_fragments(app, made["id"], made["work_slice_ms"])


async def check_fragments(app: AppHarness, transcription_id: str, work_slice_ms: int) -> None:
    """Each word is in one fragment only: that of the time in which its middle lies."""
    path = f"{TRANSCRIPTIONS}/{transcription_id}"
    whole = (await app.client.get(f"{path}.json")).json()["word_segments"]
    fragments = [(await app.client.get(f"{path}/fragments/{n}")).json() for n in range(3)]
    assert [word for each in fragments for word in each["word_segments"]] == whole
    assert [bool(each["word_segments"]) for each in fragments] == [True, True, False]
    for number, fragment in enumerate(fragments):
        for word in fragment["word_segments"]:
            middle_ms = (word["start"] + word["end"]) * 500
            assert number * work_slice_ms <= middle_ms < (number + 1) * work_slice_ms
        texts = " ".join(segment["text"] for segment in fragment["segments"])
        words = " ".join(word["text"] for word in fragment["word_segments"])
        assert normal_words(texts) == normal_words(words)


def samples_of(app: AppHarness, file_id: str) -> set[str]:
    return {name for name in blob_names(app, file_id) if "samples" in name}


async def test_audio_without_speech_gives_an_empty_transcript(
    app: AppHarness, silence: SilentFile
) -> None:
    made = silence.made
    assert (made["status"], made["language"]) == ("complete", None)
    organization_id = (await app.services.identity.authenticate(app.key)).organization.id
    said = await app.services.transcripts.captions_json(organization_id, silence.file_id)
    nothing: dict[str, Any] = {
        "segments": [],
        "word_segments": [],
        "language": None,
        "engine": "whisper-base",
        "status": "complete",
    }
    assert json.loads(said) == nothing
    vtt = await app.client.get(f"{TRANSCRIPTIONS}/{made['id']}.vtt")
    assert vtt.text == "WEBVTT\n"


@pytest.mark.spec("6")
async def test_webhooks_report_each_state(app: AppHarness, silence: SilentFile) -> None:
    organization_id = (await app.services.identity.authenticate(app.key)).organization.id
    page = await app.services.delivery_log.page(
        organization_id, silence.hook.id, before_position=None, limit=100
    )
    recorded = [each for each in page if each.resource_id == silence.made["id"]]
    assert [each.topic for each in reversed(recorded)] == [
        "transcription.created",
        "transcription.transcribing",
        "transcription.completed",
    ]
    for each in recorded:
        body = (await app.services.delivery_log.get(organization_id, each.id)).body
        assert json.loads(body)["data"].keys() == TOPICS[each.topic].sample.keys()


async def test_only_the_last_worker_may_write(app: AppHarness, silence: SilentFile) -> None:
    made = await started(app, silence.file_id, language="fr")
    work = app.services.transcript_worker
    first, second = [await work.take_audio(made.id, attempt=attempt) for attempt in (1, 2)]
    assert first is not None
    assert second is not None
    sound = PreparedAudio("org/x/samples", 44_001, "fr")
    assert not await work.save_audio(first, sound)
    assert await work.save_audio(second, sound)
    assert not await work.save_audio(second, sound)
    assert await work.take_audio(made.id, attempt=1) is None
    older, newer = [await work.take_slice(made.id, 1, attempt=attempt) for attempt in (1, 2)]
    assert older is not None
    assert newer is not None
    assert not await work.finish_slice(older, blob_key="org/x/older")
    assert await work.finish_slice(newer, blob_key="org/x/newer")
    # Whoever did not hear that it was recorded says it again, and must not delete its blob.
    assert await work.finish_slice(newer, blob_key="org/x/newer")
    assert not await work.finish_slice(older, blob_key="org/x/older")
    assert await work.take_slice(made.id, 1, attempt=1) is None
    assert await work.take_slice(made.id, 3, attempt=1) is None
    heard = await work.finished_slices(made.id)
    assert heard is not None
    assert heard[1] == ["org/x/newer"]
    kinds = [
        (job.kind, job.args.get("number"))
        for job in await app.services.jobs.list_jobs(queue="speech")
        if job.args["transcription_id"] == str(made.id)
    ]
    assert sorted(kinds, key=str) == [
        ("transcript.prepare", None),
        *(("transcript.slice", number) for number in range(3)),
    ]


async def test_a_transcription_that_kills_workers_fails(
    app: AppHarness, silence: SilentFile
) -> None:
    made = await started(app, silence.file_id, language="it")
    await end_attempts(app.services.database, MAX_TAKES)
    async with running_transcription_worker(app.services):
        found = await wait_ended(app, str(made.id))
    assert found["error"]["code"] == "transcription_kills_workers"


async def test_deleting_the_file_deletes_its_transcription(app: AppHarness, tmp_path: Path) -> None:
    path = write_sound(tmp_path / "gone.m4a", NOTHING)
    async with running_transcription_worker(app.services):
        file = await ready_file(app, path.read_bytes())
    made = await started(app, FileId(UUID(file["id"])))
    taken = await app.services.transcript_worker.take_audio(made.id, attempt=1)
    assert taken is not None
    assert (await app.client.delete(f"{FILES}/{file['id']}")).status_code == 200
    sound = PreparedAudio("org/x/samples", 1000, None)
    assert not await app.services.transcript_worker.save_audio(taken, sound)
    assert await app.services.transcript_worker.take_slice(made.id, 0, attempt=1) is None
    stream = await app.get_in_parts(f"{TRANSCRIPTIONS}/{made.id}/progress")
    assert (stream.status, stream.parts[0][:12]) == (404, b"event: error")
    async with running_transcription_worker(app.services):

        async def is_done() -> bool:
            jobs = await app.services.jobs.list_jobs(queue="speech")
            return not any(job.args["transcription_id"] == str(made.id) for job in jobs)

        await wait_until(is_done)
    assert blob_names(app, file["id"]) == set()


async def test_an_unknown_transcription_is_ignored(app: AppHarness) -> None:
    unknown = TranscriptionId(UUID(int=7))
    assert await app.services.transcript_worker.take_audio(unknown, attempt=1) is None
    assert await app.services.transcript_worker.take_slice(unknown, 0, attempt=1) is None
    assert await app.services.transcript_worker.finished_slices(unknown) is None


@pytest.mark.parametrize("name", ["late.mp4", "late.mkv"])
def test_samples_keep_their_source_time(tmp_path: Path, name: str) -> None:
    clip = read_clip("austen_0880")
    path = write_sound(tmp_path / name, clip.samples, start_ms=LATE_MS)
    count = write_samples(path, 0, tmp_path / "samples")
    samples = np.fromfile(tmp_path / "samples", "<i2").astype(np.float32) / 32_768
    assert count == len(samples)
    late = LATE_MS * SAMPLE_HZ // 1000
    assert np.abs(samples[: late - 1024]).max() == 0
    heard = samples[late : late + len(clip.samples)]
    assert np.corrcoef(heard, clip.samples)[0, 1] > 0.99


def test_the_requested_track_is_transcribed(tmp_path: Path) -> None:
    path = make_clip(tmp_path / "clip.mp4", Clip(sample_rate_hz=44_100))
    count = write_samples(path, 1, tmp_path / "samples")
    samples = np.abs(np.fromfile(tmp_path / "samples", "<i2").astype(np.int32))
    assert count >= 2 * SAMPLE_HZ
    # A beep begins with each second.
    for second in (0, 1):
        begins = second * SAMPLE_HZ + int(np.argmax(samples[second * SAMPLE_HZ :] > 3000))
        assert abs(begins - second * SAMPLE_HZ) <= 16
    for index in (0, 2):
        with pytest.raises(UnreadableMedia, match="is not an audio track"):
            write_samples(path, index, tmp_path / "samples")
