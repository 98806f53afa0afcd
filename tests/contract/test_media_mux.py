"""Track files side by side in one MP4: the same packets at the same times."""

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import av
import pytest

from framekiln.client.uploads import split_video
from framekiln.media.decode.frame_source import FrameSource
from framekiln.media.remux.track_mux import mux_fragmented_mp4, mux_mp4
from framekiln.media.tracks.split import process_video, track_path
from tests.contract.test_media_split import late_and_early, packets, two_sounds
from tests.support.clips import Clip, make_clip
from tests.support.looks import measure_file

CLIPS: dict[str, Callable[[Path], Path]] = {
    "NTSC": lambda f: make_clip(f / "a.mov", Clip(fps=Fraction(30000, 1001), b_frames=2)),
    "late starts": late_and_early,
    "MKV": lambda f: make_clip(f / "a.mkv", Clip(b_frames=2, keyframe_every=20)),
    "VP9 and Opus": lambda f: make_clip(
        f / "a.webm", Clip(video_codec="libvpx-vp9", audio_codec="libopus")
    ),
    "several sounds": two_sounds,
    "sound alone": lambda f: make_clip(f / "a.m4a", Clip(video_codec=None)),
}


@pytest.mark.parametrize("make", CLIPS.values(), ids=CLIPS)
def test_every_packet_keeps_its_time(tmp_path: Path, make: Callable[[Path], Path]) -> None:
    tracks = split_video(make(tmp_path), tmp_path)
    out = tmp_path / "one.mp4"
    mux_mp4([track.path for track in tracks], out)
    for index, track in enumerate(tracks):
        assert packets(out, index) == packets(track.path, 0)
    # The list of samples comes first, so that it can be played while it is loaded.
    data = out.read_bytes()
    assert data.index(b"moov") < data.index(b"mdat")
    assert measure_file(out)


Stamped = tuple[Fraction, bytes]


def packets_of(path: Path, kind: str) -> list[Stamped]:
    with av.open(str(path)) as container:
        stream = next(s for s in container.streams if s.type == kind)
        return [
            (p.pts * Fraction(p.time_base), bytes(p))
            for p in container.demux(stream)
            if p.size and p.pts is not None
        ]


@pytest.mark.parametrize("fps", [Fraction(30), Fraction(30000, 1001)], ids=str)
def test_every_packet_keeps_its_bytes_and_its_time(tmp_path: Path, fps: Fraction) -> None:
    source = make_clip(tmp_path / "source.mp4", Clip(fps=fps, b_frames=2))
    made = process_video(source, tmp_path, report=lambda _: None)
    paths = [track_path(tmp_path, track.track_id) for track in made.tracks]
    out = tmp_path / "whole.mp4"
    mux_fragmented_mp4(paths, out)
    for kind in ("video", "audio"):
        assert packets_of(out, kind) == packets_of(source, kind)
    with FrameSource(out, width_px=320, height_px=240) as frames:
        assert frames.shown_ms(Fraction(1500)) == frames.shown_ms(Fraction(1500))


def test_a_single_track_is_a_film_too(tmp_path: Path) -> None:
    source = make_clip(tmp_path / "source.mp4", Clip(video_codec=None))
    process_video(source, tmp_path, report=lambda _: None)
    out = tmp_path / "whole.mp4"
    mux_fragmented_mp4([track_path(tmp_path, 1)], out)
    assert packets_of(out, "audio") == packets_of(source, "audio")
