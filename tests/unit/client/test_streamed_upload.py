"""Fragments of all tracks are sent in the order of time, and only to the stream they belong to."""

import hashlib
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import httpx
import pytest

from framekiln.client.connection import ServiceConnection
from framekiln.client.errors import OtherMedia
from framekiln.client.uploads import LocalFragment, LocalTrack, RemoteUploads, fragments_by_time


def local_track(folder: Path, track_id: int, *starts_s: Fraction | int) -> LocalTrack:
    """A track file of one letter a piece."""
    path = folder / f"{track_id}.mp4"
    letters = bytes(range(65 + 10 * track_id, 66 + 10 * track_id + len(starts_s)))
    path.write_bytes(letters)
    pieces = [
        LocalFragment(at, 1, Fraction(start), hashlib.sha256(letters[at : at + 1]).digest())
        for at, start in enumerate((0, *starts_s))
    ]
    kind = "video" if track_id == 1 else "audio"
    return LocalTrack(track_id, kind, path, pieces[0], tuple(pieces[1:]))


@pytest.fixture
def tracks(tmp_path: Path) -> list[LocalTrack]:
    return [
        local_track(tmp_path, 1, 0, 1, 2, 3),
        local_track(tmp_path, 2, 0, Fraction(3, 2), 3),
    ]


def state(tracks: list[LocalTrack], *counts: int | None) -> dict[str, Any]:
    """What the service says when so many fragments have come; None when nothing has."""
    return {
        "id": "an-id",
        "filename": "film.mp4",
        "tracks": [
            {
                "track_id": track.track_id,
                "type": track.type,
                "has_init": count is not None,
                "next": count or 0,
                "byte_size": 0 if count is None else 1 + count,
                "sha256": None if count is None else track.chained_digest(count).hex(),
            }
            for track, count in zip(tracks, counts, strict=True)
        ],
    }


def sent(stream: dict[str, Any], tracks: list[LocalTrack]) -> tuple[list[str], Any]:
    asked: list[httpx.Request] = []

    def service(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        return httpx.Response(200, json={"status": "processing"})

    connection = ServiceConnection("http://s", "k", transport=httpx.MockTransport(service))
    reports: list[tuple[int, int]] = []
    connection.perform(
        RemoteUploads(connection).send_stream(stream, tracks, lambda *each: reports.append(each))
    )
    assert reports[-1] == (9, 9)
    *pieces, seal = asked
    assert seal.url.path == "/api/v1/files/an-id/stream/seal"
    for piece in pieces:
        assert piece.headers["content-digest"].startswith("sha-256=:")
    places = [piece.url.path.partition("/stream/")[2] for piece in pieces]
    return places, json.loads(seal.content)


def test_fragments_are_ordered_by_time(tracks: list[LocalTrack]) -> None:
    found = [(track.track_id, number) for track, number in fragments_by_time(tracks, {1: 0, 2: 0})]
    assert found == [(1, 0), (2, 0), (1, 1), (2, 1), (1, 2), (1, 3), (2, 2)]


def test_all_fragments_are_sent_before_the_seal(tracks: list[LocalTrack]) -> None:
    places, seal = sent(state(tracks, None, None), tracks)
    assert places == ["1/init", "2/init", "1/0", "2/0", "1/1", "2/1", "1/2", "1/3", "2/2"]
    assert seal == {"tracks": {"1": {"fragments": 4}, "2": {"fragments": 3}}}


def test_only_missing_fragments_are_sent(tracks: list[LocalTrack]) -> None:
    places, _ = sent(state(tracks, 3, 0), tracks)
    assert places == ["2/0", "2/1", "1/3", "2/2"]
    assert sent(state(tracks, 4, 3), tracks)[0] == []


def test_fragments_of_another_film_are_refused(tracks: list[LocalTrack], tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    longer = [local_track(tmp_path / "other", 1, *range(6)), tracks[1]]
    cases = [
        # The same beginning, and more of it there than this film has.
        (state(longer, 6, 0), tracks),
        (state(tracks, 2, None), tracks[:1]),
        (state([tracks[0], tracks[0]], 1, 1), tracks),
    ]
    wrong_sum = state(tracks, 2, 1)
    wrong_sum["tracks"][1]["sha256"] = "00" * 32
    for stream, local in [*cases, (wrong_sum, tracks)]:
        with pytest.raises(OtherMedia, match="an-id"):
            sent(stream, local)
