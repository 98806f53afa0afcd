"""The index of a track says where in its blob each segment lies."""

from pathlib import Path

from framekiln.media.segments.film_segments import FilmSegment, TrackHeader
from framekiln.videos.hls.package import HlsPackage


def test_every_packaged_segment_is_found(tmp_path: Path) -> None:
    path = tmp_path / "track"
    header = TrackHeader(b"head", "avc1", 30, 64, 48)
    segments = [FilmSegment(b"one", 60), FilmSegment(b"three", 30)]
    package = HlsPackage.from_json(HlsPackage.write(path, header, segments).to_json())
    data = path.read_bytes()
    assert data[: package.init_bytes] == b"head"
    spans = [package.byte_range(0), package.byte_range(1)]
    assert [data[span[0] : span[1]] for span in spans if span] == [b"one", b"three"]
    assert package.byte_range(2) is None
    assert package.byte_range(-1) is None
    # Five bytes in one second are more than three in two.
    assert package.peak_bits_per_s == 40
