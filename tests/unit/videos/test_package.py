"""The index of a track says where in its blob each segment lies."""

from pathlib import Path

from framekiln.media.segmenting.film_segments import Header, Segment
from framekiln.videos.streaming.package import Package


def test_every_segment_is_found_again(tmp_path: Path) -> None:
    path = tmp_path / "track"
    header = Header(b"head", "avc1", 30, 64, 48)
    segments = [Segment(b"one", 60), Segment(b"three", 30)]
    package = Package.from_json(Package.write(path, header, segments).to_json())
    data = path.read_bytes()
    assert data[: package.init_bytes] == b"head"
    spans = [package.span(0), package.span(1)]
    assert [data[span[0] : span[1]] for span in spans if span] == [b"one", b"three"]
    assert package.span(2) is None
    assert package.span(-1) is None
    # Five bytes in one second are more than three in two.
    assert package.peak_bits_per_s == 40
