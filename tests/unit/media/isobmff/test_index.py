"""The index groups fragments to segments that players can fetch."""

from pathlib import Path

import pytest

from framekiln.media.errors import UnreadableMedia
from framekiln.media.isobmff.index import index_of_tracks, read_init_bytes, read_segment_bytes
from tests.support.mp4_boxes import (
    ESDS,
    NOT_SYNC,
    SYNC,
    BoxTrack,
    SampleRun,
    box,
    fragment,
    init_segment,
    sound_entry,
)


def write(path: Path, track: BoxTrack, *runs: SampleRun) -> Path:
    path.write_bytes(init_segment(track) + b"".join(map(fragment, runs)))
    return path


def seconds(*lengths_ms: int, start: int = 0) -> list[SampleRun]:
    """Fragments of these lengths, each of a keyframe and one picture more."""
    runs = []
    for length in lengths_ms:
        half = length // 2
        runs.append(SampleRun(start, ((half, 10, SYNC, 0), (length - half, 4, NOT_SYNC, 0))))
        start += length
    return runs


@pytest.mark.parametrize(
    ("lengths_ms", "segments_ms"),
    [
        ([500] * 9, [2000, 2000, 500]),
        ([2000, 2000], [2000, 2000]),
        ([1999, 1999, 1999], [3998, 1999]),
        ([5000, 100, 1900], [5000, 2000]),
        ([40], [40]),
    ],
)
def test_segments_have_two_seconds_or_more(
    tmp_path: Path, lengths_ms: list[int], segments_ms: list[int]
) -> None:
    path = write(tmp_path / "1.mp4", BoxTrack(), *seconds(*lengths_ms))
    entry = index_of_tracks({1: path})["1"]
    assert [segment["duration"] for segment in entry["segments"]] == segments_ms
    assert entry["duration"] == sum(lengths_ms)
    assert entry["sample_count"] == 2 * len(lengths_ms)
    whole = read_init_bytes(path, entry)
    for number, _ in enumerate(segments_ms):
        whole += read_segment_bytes(path, entry, number)
    assert whole == path.read_bytes()


def test_times_are_those_of_the_edit_list(tmp_path: Path) -> None:
    late = write(tmp_path / "1.mp4", BoxTrack(edits=((300, -1), (0, 0))), *seconds(2000, 1000))
    entry = index_of_tracks({1: late})["1"]
    assert entry["startTimeOffsetMs"] == 500
    assert [(s["cts"], s["dts"]) for s in entry["segments"]] == [(500, 0), (2500, 2000)]
    assert entry["duration"] == 3000


def test_samples_before_zero_are_not_counted(tmp_path: Path) -> None:
    entry = sound_entry("mp4a", box("esds", ESDS))
    track = BoxTrack(handler=b"soun", entry=entry, edits=((0, 21),))
    primed = write(tmp_path / "2.mp4", track, *seconds(2021, 1000))
    found = index_of_tracks({2: primed})["2"]
    assert "startTimeOffsetMs" not in found
    assert [(s["cts"], s["duration"]) for s in found["segments"]] == [(0, 2000), (2000, 1000)]
    assert (found["duration"], found["channel_count"], found["sample_rate"]) == (3000, 2, 48_000)
    assert "width" not in found


def test_the_index_is_keyed_by_track_id_as_text(tmp_path: Path) -> None:
    path = write(tmp_path / "a.mp4", BoxTrack(), *seconds(1000))
    index = index_of_tracks({3: path, -1: path, 1: path})
    assert {key: entry["track"] for key, entry in index.items()} == {"-1": -1, "1": 1, "3": 3}


@pytest.mark.parametrize("damage", ["cut", "empty", "nothing", "plain"])
def test_a_broken_track_is_named(tmp_path: Path, damage: str) -> None:
    whole = init_segment() + fragment()
    contents = {
        "cut": whole[:-1],
        "empty": init_segment(),
        "nothing": b"",
        "plain": box("ftyp", b"isom") + box("mdat", bytes(9)) + init_segment(),
    }
    path = tmp_path / "5.mp4"
    path.write_bytes(contents[damage])
    with pytest.raises(UnreadableMedia, match="track 5: "):
        index_of_tracks({5: path})
