"""Tracks of several files in one: numbers change, and nothing else that is seen or heard."""

import io
from fractions import Fraction

import av
import numpy as np
import pytest

from framekiln.media.errors import UnreadableMedia
from framekiln.media.isobmff.boxes import boxes_in
from framekiln.media.isobmff.track_file import FragmentSegment, FragmentSplitter, InitSegment
from framekiln.media.isobmff.track_merge import TrackRenumberer, merge_init_segments

RATE_HZ = 48_000


def sound_file(movie_timescale: int, *, delay: Fraction, tone_hz: int) -> bytes:
    """Return a second of sound in fragments; its edit list delays it on the movie's clock."""
    out = io.BytesIO()
    options = {
        "movflags": "frag_keyframe+delay_moov+default_base_moof+skip_trailer",
        "frag_duration": "250000",
        "movie_timescale": str(movie_timescale),
    }
    with av.open(out, "w", format="mp4", options=options) as container:
        stream = container.add_stream("aac", rate=RATE_HZ, layout="mono")
        for start in range(0, RATE_HZ, 1024):
            at = np.arange(start, start + 1024) / RATE_HZ
            wave = (np.sin(2 * np.pi * tone_hz * at) * 0.5).astype(np.float32)
            frame = av.AudioFrame.from_ndarray(wave[None], format="fltp", layout="mono")
            frame.sample_rate, frame.pts = RATE_HZ, start + int(delay * RATE_HZ)
            frame.time_base = Fraction(1, RATE_HZ)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return out.getvalue()


def cut(data: bytes) -> tuple[bytes, list[bytes]]:
    pieces = list(FragmentSplitter().feed(data))
    assert isinstance(pieces[0], InitSegment)
    rest = [each for each in pieces[1:] if isinstance(each, FragmentSegment)]
    return pieces[0].data, [each.data for each in rest]


def packets(data: bytes) -> list[list[tuple[Fraction, bytes]]]:
    with av.open(io.BytesIO(data), "r") as container:
        found: list[list[tuple[Fraction, bytes]]] = [[] for _ in container.streams]
        for packet in container.demux():
            if packet.size:
                at = (packet.pts or 0) * packet.time_base
                found[packet.stream.index].append((at, bytes(packet)))
    return found


def test_tracks_with_equal_numbers_are_renumbered() -> None:
    files = [
        sound_file(1000, delay=Fraction(0), tone_hz=300),
        sound_file(90_000, delay=Fraction(1, 2), tone_hz=500),
        sound_file(600, delay=Fraction(1, 4), tone_hz=700),
    ]
    apart = [packets(data)[0] for data in files]
    cuts = [cut(data) for data in files]
    woven = merge_init_segments(
        {number: init for number, (init, _) in zip((4, 7, 9), cuts, strict=True)}
    )
    sequence = 0
    for (_, fragments), number in zip(cuts, (4, 7, 9), strict=True):
        assert len(fragments) > 1
        for fragment in fragments:
            sequence += 1
            renumbering = TrackRenumberer(number, sequence=sequence)
            # However it comes in, as much goes out.
            passed = b"".join(renumbering.feed(bytes([byte])) for byte in fragment)
            assert len(passed) == len(fragment)
            assert passed == TrackRenumberer(number, sequence=sequence).feed(fragment)
            woven += passed
    assert packets(woven) == apart
    with av.open(io.BytesIO(woven), "r") as container:
        assert [stream.id for stream in container.streams] == [4, 7, 9]


def test_segment_indexes_are_removed() -> None:
    _, [fragment, *_] = cut(sound_file(1000, delay=Fraction(0), tone_hz=300))
    sidx = (12).to_bytes(4, "big") + b"sidx" + bytes(4)
    passed = TrackRenumberer(2, sequence=1).feed(sidx + fragment)
    assert [box.kind for box in boxes_in(passed)] == ["free", "moof", "mdat"]


def test_an_empty_init_segment_is_refused() -> None:
    with pytest.raises(UnreadableMedia):
        merge_init_segments({1: b""})
