"""Track files side by side in one MP4: the same packets at the same times."""

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from framekiln.client.local_tracks import cut_video
from framekiln.media.remaking.one_mp4 import write_one_mp4
from tests.contract.test_media_split import late_and_early, packets, two_sounds
from tests.support.clips import Clip, make_clip
from tests.support.looks import probe

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
    tracks = cut_video(make(tmp_path), tmp_path)
    out = tmp_path / "one.mp4"
    write_one_mp4([track.path for track in tracks], out)
    for index, track in enumerate(tracks):
        assert packets(out, index) == packets(track.path, 0)
    # The list of samples comes first, so that it can be played while it is loaded.
    data = out.read_bytes()
    assert data.index(b"moov") < data.index(b"mdat")
    assert probe(out)
