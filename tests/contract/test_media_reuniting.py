"""Tracks that come back together are the film they came from."""

from fractions import Fraction
from pathlib import Path

import av
import pytest

from framekiln.media.remaking.reuniting import reunite
from framekiln.media.splitting.split import process_video, track_path
from framekiln.media.watching.frames import FrameSource
from tests.support.clips import Clip, make_clip

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
    reunite(paths, out)
    for kind in ("video", "audio"):
        assert packets_of(out, kind) == packets_of(source, kind)
    with FrameSource(out, width_px=320, height_px=240) as frames:
        assert frames.shown_ms(Fraction(1500)) == frames.shown_ms(Fraction(1500))


def test_a_single_track_is_a_film_too(tmp_path: Path) -> None:
    source = make_clip(tmp_path / "source.mp4", Clip(video_codec=None))
    process_video(source, tmp_path, report=lambda _: None)
    out = tmp_path / "whole.mp4"
    reunite([track_path(tmp_path, 1)], out)
    assert packets_of(out, "audio") == packets_of(source, "audio")
