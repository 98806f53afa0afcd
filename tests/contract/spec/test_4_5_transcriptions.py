"""Clause 4.5: transcriptions by all their addresses, followed and read, by a real recognizer."""

import json
import re
from collections.abc import AsyncIterator
from fractions import Fraction
from typing import Any
from uuid import UUID, uuid4

import pytest

from framekiln.kit.ids import FileId
from framekiln.media.captions import read_captions
from tests.support.app import AppHarness
from tests.support.clips import Clip, make_clip
from tests.support.speech_clips import FOLDER, normal_words
from tests.support.transcriptions import (
    TRANSCRIPTIONS,
    ready_file,
    running_transcription_worker,
    transcribe,
)
from tests.support.uploads import FILES, blob_names, create, upload, wait_until_stored

pytestmark = pytest.mark.spec("4.5")

ISOBMFF = "/api/v1/isobmff_files"
SPOKEN = (FOLDER / "austen_0880.flac").read_bytes()
TEXT = "he was not an ill disposed young man"
RECORD = {
    *("id", "file_id", "track_id", "status", "language", "duration_ms", "work_slice_ms"),
    *("created_at", "completed_at", "failed_at", "error", "engine", "warnings"),
}


@pytest.fixture(scope="module")
async def app(app: AppHarness) -> AsyncIterator[AppHarness]:
    async with running_transcription_worker(app.services):
        yield app


@pytest.fixture(scope="module")
async def followed(app: AppHarness) -> tuple[str, list[bytes]]:
    """A file with a spoken sentence, transcribed: its id, and its progress events."""
    file = await ready_file(app, SPOKEN)
    path = f"{FILES}/{file['id']}"
    assert (await app.client.get(f"{path}/transcription")).status_code == 404
    started = await app.client.post(f"{path}/transcribe", json={})
    assert started.status_code == 201
    assert started.json() == {"id": started.json()["id"], "file_id": file["id"], "track_id": 1}
    return file["id"], (
        await app.get_in_parts(f"{TRANSCRIPTIONS}/{started.json()['id']}/progress")
    ).parts


@pytest.fixture(scope="module")
async def spoken(app: AppHarness, followed: tuple[str, list[bytes]]) -> dict[str, Any]:
    """The transcription of that file."""
    return await transcribe(app, followed[0])


@pytest.fixture(scope="module")
async def mute(app: AppHarness, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A file without sound."""
    path = tmp_path_factory.mktemp("mute") / "mute.mp4"
    make_clip(path, Clip(duration_s=Fraction(1), audio_codec=None))
    return await ready_file(app, path.read_bytes())


@pytest.mark.spec("2.9", "3.3", "4.4")
async def test_a_file_is_transcribed_and_its_progress_reported(
    app: AppHarness, followed: tuple[str, list[bytes]]
) -> None:
    file_id, parts = followed
    check_progress(parts)
    record = (await app.client.get(f"{FILES}/{file_id}/transcription")).json()
    assert set(record) == RECORD
    assert (record["status"], record["error"], record["failed_at"]) == ("completed", None, None)
    assert (record["language"], record["work_slice_ms"]) == ("en", 22_000)
    assert (record["engine"], record["warnings"]) == ("whisper-base", [])
    assert record["completed_at"] > record["created_at"]
    assert record["duration_ms"] == 2990
    by_id = (await app.client.get(f"{TRANSCRIPTIONS}/{record['id']}")).json()
    assert by_id == {**record, "status": "complete"}


def check_progress(parts: list[bytes]) -> None:
    events = re.findall(r"event: (\w+)\ndata: (.*)\n\n", b"".join(parts).decode("ascii"))
    parsed = [(name, json.loads(data)) for name, data in events]
    assert parsed[0] == ("size", {"size": 1000})
    assert parsed[-2:] == [("progress", {"progress": 1.0}), ("complete", {})]
    assert parts[-1].startswith(b"event: progress")
    assert parts[-1].endswith(b"event: complete\ndata: {}\n\n")
    counts = [data["count"] for name, data in parsed if name == "completion"]
    assert counts
    assert sum(counts) < 1000
    fractions = [data["progress"] for name, data in parsed if name == "progress"]
    assert fractions == sorted(fractions)


async def test_a_transcript_is_served_as_json_vtt_and_srt(
    app: AppHarness, spoken: dict[str, Any]
) -> None:
    for path in (f"{TRANSCRIPTIONS}/{spoken['id']}", f"{FILES}/{spoken['file_id']}/transcription"):
        response = await app.client.get(f"{path}.json")
        assert response.headers["content-type"] == "application/json"
        captions = response.json()
        assert set(captions) == {"segments", "word_segments", "language", "engine", "status"}
        assert (captions["language"], captions["status"]) == ("en", "complete")
        assert captions["engine"] == "whisper-base"
        check_spoken(captions)
        for ending, media_type in (("vtt", "text/vtt"), ("srt", "application/x-subrip")):
            answer = await app.client.get(f"{path}.{ending}")
            assert answer.headers["content-type"].startswith(media_type)
            read = read_captions(answer.content)
            assert normal_words(" ".join(cue.text for cue in read.segments)) == TEXT.split()
    timed = await app.client.get(f"{TRANSCRIPTIONS}/{spoken['id']}.vtt?word_times=true")
    assert len(re.findall(r"<00:00:0\d\.\d{3}>", timed.text)) == len(captions["word_segments"]) - 1
    organization_id = (await app.services.identity.authenticate(app.key)).organization.id
    file_id = FileId(UUID(spoken["file_id"]))
    assert json.loads(await app.services.transcripts.captions_json(organization_id, file_id)) == (
        captions
    )


def check_spoken(captions: dict[str, Any]) -> None:
    words = captions["word_segments"]
    assert normal_words(" ".join(word["text"] for word in words)) == TEXT.split()
    times = [time for word in words for time in (word["start"], word["end"])]
    assert times == sorted(times)
    assert 0 <= times[0] < 1
    assert 2 < times[-1] <= 3.06
    assert normal_words(" ".join(each["text"] for each in captions["segments"])) == TEXT.split()


async def test_fragments_have_absolute_seconds(app: AppHarness, spoken: dict[str, Any]) -> None:
    path = f"{TRANSCRIPTIONS}/{spoken['id']}/fragments"
    first = (await app.client.get(f"{path}/0")).json()
    assert set(first) == {"segments", "word_segments"}
    check_spoken(first)
    for beyond in (1, 123456789):
        answer = await app.client.get(f"{path}/{beyond}")
        assert (answer.status_code, answer.json()["word_segments"]) == (200, [])
    for wrong in ("-1", "x", "1.5"):
        assert (await app.client.get(f"{path}/{wrong}")).status_code == 404


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"trackId": 1},
        {"trackId": "1"},
        {"track_id": 1.0},
        {"trackId": None},
        {"language": "en-GB"},
    ],
)
async def test_transcribing_again_returns_the_existing_transcription(
    app: AppHarness, spoken: dict[str, Any], body: dict[str, Any]
) -> None:
    file_id = spoken["file_id"]
    for path in (f"{FILES}/{file_id}", f"{ISOBMFF}/{file_id}"):
        answer = await app.client.post(f"{path}/transcribe", json=body)
        assert (answer.status_code, answer.json()["id"]) == (200, spoken["id"])
    answer = await app.client.post(TRANSCRIPTIONS, json={"file_id": file_id, **body})
    assert answer.status_code == 200
    assert answer.json() == spoken


@pytest.mark.spec("2.8")
async def test_the_older_addresses_return_the_same_transcription(
    app: AppHarness, spoken: dict[str, Any]
) -> None:
    path = f"{ISOBMFF}/{spoken['file_id']}"
    record = (await app.client.get(f"{path}/transcription")).json()
    length = {"duration_ms": spoken["duration_ms"]}
    assert record == {**spoken, "status": "completed", "isobmff_track": length}
    empty = await app.client.post(f"{path}/transcribe", headers={"Content-Length": "0"})
    assert empty.json() == {name: spoken[name] for name in ("id", "file_id", "track_id")}


async def test_a_file_uploaded_as_tracks_is_transcribed(
    app: AppHarness, spoken: dict[str, Any]
) -> None:
    """There is no original, so the track itself is heard, whatever its number is."""
    source = f"{FILES}/{spoken['file_id']}"
    track = (await app.client.get(f"{source}/tracks/1")).content
    index = (await app.client.get(f"{source}/index")).json()
    path = f"{FILES}/{(await create(app, filename='tracks'))['id']}"
    fields = {"track_id": 5, "type": "audio", "codec_name": "aac", "duration_ms": 2990}
    await app.client.post(f"{path}/tracks", json={**fields, "byte_size": len(track)})
    sent = await upload(app, f"{path}/tracks/5/upload", track)
    assert sent[-1].status_code == 201
    ready = await app.client.post(f"{path}/index/upload", json={"5": {**index["1"], "track": 5}})
    assert ready.json()["status"] == "ready", ready.text
    made = await transcribe(app, ready.json()["id"], language="en")
    assert (made["status"], made["track_id"]) == ("complete", 5)
    words = (await app.client.get(f"{path}/transcription.json")).json()["word_segments"]
    assert normal_words(words[0]["text"] + " " + words[1]["text"]) == TEXT.split()[:2]


async def test_files_without_audio_are_refused(
    app: AppHarness, spoken: dict[str, Any], mute: dict[str, Any]
) -> None:
    created = await create(app, filename="later.mp4")
    wrong: list[tuple[str, dict[str, Any], int, str]] = [
        (mute["id"], {}, 400, "no_audio_track"),
        (mute["id"], {"trackId": 1}, 400, "no_audio_track"),
        (spoken["file_id"], {"trackId": 7}, 400, "not_an_audio_track"),
        (spoken["file_id"], {"trackId": "-1"}, 400, "not_an_audio_track"),
        (spoken["file_id"], {"trackId": True}, 400, "invalid_request"),
        (spoken["file_id"], {"trackId": "one"}, 400, "invalid_request"),
        (spoken["file_id"], {"language": "e"}, 400, "invalid_request"),
        (created["id"], {}, 409, "file_not_ready"),
        (str(uuid4()), {}, 404, "file_not_found"),
    ]
    for file_id, body, status, error in wrong:
        answer = await app.client.post(f"{FILES}/{file_id}/transcribe", json=body)
        assert (answer.status_code, answer.json()["error"]) == (status, error)
        answer = await app.client.post(TRANSCRIPTIONS, json={"file_id": file_id, **body})
        assert (answer.status_code, answer.json()["error"]) == (status, error)
    assert (await app.client.post(TRANSCRIPTIONS, json={})).status_code == 400
    for ending in ("", ".json", ".vtt", ".srt"):
        answer = await app.client.get(f"{FILES}/{mute['id']}/transcription{ending}")
        assert (answer.status_code, answer.json()["error"]) == (404, "transcription_not_found")


async def test_other_organizations_cannot_see_a_transcription(
    app: AppHarness, spoken: dict[str, Any]
) -> None:
    stranger = await app.other_organization()
    by_id = f"{TRANSCRIPTIONS}/{spoken['id']}"
    of_file = f"{FILES}/{spoken['file_id']}/transcription"
    paths = [by_id, f"{by_id}.vtt", f"{by_id}/fragments/0", f"{by_id}/progress"]
    for path in [*paths, of_file, f"{of_file}.json"]:
        assert (await stranger.client.get(path)).status_code == 404
        assert (await app.client.get(path, headers={"Authorization": ""})).status_code == 401
    assert (await stranger.client.get(TRANSCRIPTIONS)).json() == {
        "transcriptions": [],
        "next_cursor": None,
    }
    await stranger.client.aclose()


async def test_transcriptions_are_listed_in_pages(app: AppHarness, spoken: dict[str, Any]) -> None:
    one = await app.client.get(TRANSCRIPTIONS, params={"file_id": spoken["file_id"]})
    assert one.json() == {"transcriptions": [spoken], "next_cursor": None}
    whole = (await app.client.get(TRANSCRIPTIONS)).json()["transcriptions"]
    assert [each["created_at"] for each in whole] == sorted(
        (each["created_at"] for each in whole), reverse=True
    )
    paged: list[dict[str, Any]] = []
    cursor = None
    while len(paged) < len(whole):
        params = {"limit": 1} | ({"cursor": cursor} if cursor else {})
        page = (await app.client.get(TRANSCRIPTIONS, params=params)).json()
        paged += page["transcriptions"]
        cursor = page["next_cursor"]
    assert (paged, cursor) == (whole, None)
    refused = (await app.client.get(TRANSCRIPTIONS, params={"cursor": "7"})).json()
    assert "send next_cursor of the previous page" in refused["message"]


@pytest.mark.spec("3.3")
async def test_a_failed_transcription_has_its_error_and_can_be_repeated(
    app: AppHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As in front of workers whose model knows more languages than that of these.
    monkeypatch.setattr(app.services.transcripts, "_languages", frozenset({"en", "tlh"}))
    file = await ready_file(app, SPOKEN)
    path = f"{FILES}/{file['id']}"
    failed = await transcribe(app, file["id"], language="tlh")
    assert (failed["status"], failed["error"]["code"]) == ("failed", "unknown_language")
    assert failed["failed_at"] is not None
    events = b"".join((await app.get_in_parts(f"{TRANSCRIPTIONS}/{failed['id']}/progress")).parts)
    assert events.split(b"\n\n")[-2].startswith(b"event: error\ndata: unknown_language: ")
    for text in (f"{path}/transcription.vtt", f"{TRANSCRIPTIONS}/{failed['id']}/fragments/0"):
        answer = await app.client.get(text)
        assert (answer.status_code, answer.json()["status"]) == (409, "failed")
        assert "tlh" in answer.json()["message"]
    again = await transcribe(app, file["id"], language="EN")
    assert (again["status"], again["language"]) == ("complete", "en")
    assert again["id"] != failed["id"]
    assert (await app.client.get(f"{path}/transcription")).json()["id"] == again["id"]
    await keeps_transcript(app, file["id"], again["id"])
    assert (await app.client.post(f"{path}/delete")).json() == {"success": True}
    assert (await app.client.get(f"{TRANSCRIPTIONS}/{again['id']}")).status_code == 404
    assert blob_names(app, file["id"]) == set()


@pytest.mark.parametrize("language", ["tlh", "xx", "zz-ZZ"])
async def test_an_unsupported_language_is_refused_at_once(
    app: AppHarness, spoken: dict[str, Any], language: str
) -> None:
    asked = {"file_id": spoken["file_id"], "language": language}
    for path in (f"{FILES}/{spoken['file_id']}/transcribe", TRANSCRIPTIONS):
        answer = await app.client.post(path, json=asked)
        assert answer.status_code == 400
        problem = answer.json()
        assert (problem["error"], problem["field"]) == ("unknown_language", "language")
        assert repr(language) in problem["message"]
    newest = await app.client.get(f"{FILES}/{spoken['file_id']}/transcription")
    assert newest.json()["id"] == spoken["id"]


async def test_corrections_are_read_everywhere_and_survive_a_new_transcription(
    app: AppHarness, spoken: dict[str, Any]
) -> None:
    path, of_file = f"{TRANSCRIPTIONS}/{spoken['id']}", f"{FILES}/{spoken['file_id']}/transcription"
    recognized = (await app.client.get(f"{path}.json")).json()
    put = await app.client.put(
        f"{path}/corrections/0", json={"end_ms": 3000, "text": "He was\nnot Framekiln & sons."}
    )
    assert put.status_code == 200, put.text
    assert normal_words(put.json()["original_text"]) == TEXT.split()
    assert put.json()["text"] == "He was not Framekiln & sons."
    for corrected in (path, of_file):
        [segment] = (await app.client.get(f"{corrected}.json")).json()["segments"]
        assert segment["text"] == "He was not Framekiln & sons."
        assert "Framekiln &amp; sons." in (await app.client.get(f"{corrected}.vtt")).text
        assert "Framekiln & sons." in (await app.client.get(f"{corrected}.srt")).text
        raw = await app.client.get(f"{corrected}.json", params={"corrected": False})
        assert raw.json() == recognized
    fragment = (await app.client.get(f"{path}/fragments/0")).json()
    assert [word["text"] for word in fragment["word_segments"]][-2:] == ["&", "sons."]
    await check_refused_corrections(app, path)
    again = await transcribe(app, spoken["file_id"], language="de")
    assert again["id"] != spoken["id"]
    new_path = f"{TRANSCRIPTIONS}/{again['id']}"
    listed = (await app.client.get(f"{new_path}/corrections")).json()
    assert listed == {"corrections": [put.json()]}
    captions = (await app.client.get(f"{of_file}.json")).json()
    assert captions["language"] == "de"
    assert [each["text"] for each in captions["segments"]] == ["He was not Framekiln & sons."]
    removed = await app.client.delete(f"{new_path}/corrections/0")
    assert removed.json() == put.json()
    assert (await app.client.get(f"{path}.json")).json() == recognized


async def check_refused_corrections(app: AppHarness, path: str) -> None:
    wrong: list[tuple[str, dict[str, Any], int, str]] = [
        ("0", {"end_ms": 0, "text": "x"}, 400, "invalid_request"),
        ("900", {"end_ms": 900, "text": "x"}, 400, "invalid_correction"),
        ("999999", {"end_ms": 1000000, "text": "x"}, 400, "invalid_correction"),
        ("900", {"end_ms": 1000, "text": "x"}, 409, "correction_overlaps"),
        ("0", {"end_ms": 3000, "text": "a\x01b"}, 400, "invalid_request"),
        ("0", {"end_ms": 3000, "text": "a" * 5001}, 400, "invalid_request"),
        ("-1", {"end_ms": 3000, "text": "a"}, 400, "invalid_request"),
    ]
    for start_ms, body, status, error in wrong:
        answer = await app.client.put(f"{path}/corrections/{start_ms}", json=body)
        assert (answer.status_code, answer.json()["error"]) == (status, error), answer.text
    missing = await app.client.delete(f"{path}/corrections/5")
    assert (missing.status_code, missing.json()["error"]) == (404, "correction_not_found")
    stranger = await app.other_organization()
    for method in ("GET", "PUT", "DELETE"):
        place = "" if method == "GET" else "/0"
        sent = {"end_ms": 3000, "text": "x"} if method == "PUT" else None
        answer = await stranger.client.request(method, f"{path}/corrections{place}", json=sent)
        assert answer.status_code == 404
    await stranger.client.aclose()


async def keeps_transcript(app: AppHarness, file_id: str, transcription_id: str) -> None:
    """Wait until of all that was made for it only the transcript is left."""
    others = {name for name in blob_names(app, file_id) if "transcriptions/" not in name}
    await wait_until_stored(
        app, file_id, *others, f"transcriptions/{transcription_id}/transcript.json"
    )
