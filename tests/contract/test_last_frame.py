"""The last frame of a video is shown for as long as its file states."""

import json
from fractions import Fraction
from pathlib import Path

import pytest

from framekiln.engine.redaction import task as redaction_task
from framekiln.media.decode.video_decoder import VideoDecoder
from framekiln.media.exact_frames import frame_times
from framekiln.media.probe.media_file import probe_media
from framekiln.media.probe.source import probe_source
from framekiln.media.segments.packet_scan import scan_video
from framekiln.media.tracks.split import process_video, track_path
from tests.support.unusual_clips import make_paced

# With three B-frames, the last frame is decoded before two others.
STARTS_MS = [0, 40, 80, 120, 400, 440, 480, 1000, 1040, 1080, 1600, 1640]
LAST_MS = 700
LAST_S = Fraction(LAST_MS, 1000)


@pytest.mark.parametrize("name", ["edits.mp4", "no edits.mp4", "a.mkv"])
def test_a_frame_that_is_decoded_before_others_ends_when_its_track_ends(
    tmp_path: Path, name: str
) -> None:
    """It ended when the frame after it was decoded, and the file before it began."""
    path = make_paced(tmp_path / name, STARTS_MS, last_ms=LAST_MS, edits="no" not in name)
    with VideoDecoder(path) as decoder:
        frames = list(iter(decoder.read, None))
        assert frames[-1].duration * decoder.tick_s == LAST_S
        # Without an edit list, the delay of the first frame is visible.
        end_s = (frames[0].pts or 0) * decoder.tick_s + Fraction(STARTS_MS[-1] + LAST_MS, 1000)
    assert len(frames) == len(STARTS_MS)
    scan, times = scan_video(path, probe_source(path)), frame_times(path)
    assert probe_media(path).duration_ms == end_s * 1000
    assert Fraction(scan.end, scan.timescale) == times.end * times.tick_s == end_s
    made = process_video(path, tmp_path / "made", report=lambda _: None)
    assert (made.duration_ms, made.tracks[0].reason) == (end_s * 1000, None)
    for entry in json.loads((tmp_path / "made/index.json").read_text()).values():
        last = entry["segments"][-1]
        assert Fraction(last["cts"] + last["duration"], entry["timescale"]) == end_s
    copy = track_path(tmp_path / "made", 1)
    scan = scan_video(copy, probe_source(copy))
    assert Fraction(scan.end, scan.timescale) == end_s
    assert probe_media(copy).duration_ms == end_s * 1000


def test_the_last_frame_of_a_redacted_film_lasts_as_long_as_in_its_source(tmp_path: Path) -> None:
    """It lasted as long as the mean of all frames."""
    source = make_paced(tmp_path / "a.mp4", STARTS_MS, last_ms=LAST_MS)
    order, out = tmp_path / "order.json", tmp_path / "out.mp4"
    order.write_text(json.dumps({"boxes": [], "mutes": []}))
    redaction_task({"source": str(source), "order": str(order), "out": str(out)}, lambda _: None)
    times = frame_times(out)
    assert [start * times.tick_s * 1000 for start in times.starts] == STARTS_MS
    assert times.end * times.tick_s * 1000 == STARTS_MS[-1] + LAST_MS
    assert probe_media(out).duration_ms == STARTS_MS[-1] + LAST_MS
