"""Fragments are verified, and cut out of a stream however its bytes arrive."""

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from framekiln.media.errors import UnreadableMedia
from framekiln.media.isobmff.fragments import MAX_SAMPLES, MovieFragment
from framekiln.media.isobmff.track_file import FragmentSegment, FragmentSplitter, InitSegment
from tests.support.mp4_boxes import (
    NOT_SYNC,
    SYNC,
    BoxTrack,
    SampleRun,
    box,
    fragment,
    full_box,
    init_segment,
)

# A keyframe, one that is shown later than decoded, one that is shown sooner.
REORDERED = SampleRun(
    dts=120,
    samples=((40, 10, SYNC, 40), (40, 7, NOT_SYNC, 80), (40, 5, NOT_SYNC, 0)),
)
INIT = init_segment(BoxTrack(edits=((0, 40),)))


def split(data: bytes) -> list[InitSegment | FragmentSegment]:
    splitter = FragmentSplitter()
    found = list(splitter.feed(data))
    splitter.finish()
    return found


def only_fragment(run: SampleRun, init: bytes = INIT) -> MovieFragment:
    _, segment = split(init + fragment(run))
    assert isinstance(segment, FragmentSegment)
    return segment.facts


def test_samples_have_their_offsets_and_times() -> None:
    facts = only_fragment(REORDERED)
    head_bytes = len(fragment(REORDERED)) - 22
    assert facts.offset == len(INIT)
    assert [(s.offset, s.size_bytes) for s in facts.samples] == [
        (head_bytes, 10),
        (head_bytes + 10, 7),
        (head_bytes + 17, 5),
    ]
    assert [(s.dts, s.cts) for s in facts.samples] == [(120, 120), (160, 200), (200, 160)]
    assert [s.is_sync for s in facts.samples] == [True, False, False]
    assert (facts.dts, facts.end_dts, facts.cts, facts.end_cts) == (120, 240, 120, 240)


def test_a_fragment_ends_with_the_sample_that_is_shown_last() -> None:
    """After a gap the sample decoded before it has its length, though it is shown after it."""
    gap = SampleRun(
        dts=0,
        samples=(
            (40, 10, SYNC, 40),
            (1000, 7, NOT_SYNC, 1080),
            (40, 5, NOT_SYNC, 40),
            (40, 5, NOT_SYNC, 80),
        ),
    )
    facts = only_fragment(gap)
    assert [sample.cts for sample in facts.samples] == [0, 1080, 1040, 1120]
    assert facts.end_cts == 1160


def test_the_sample_that_is_decoded_last_states_how_long_the_last_frame_is_shown() -> None:
    samples = (
        (40, 10, SYNC, 40),
        (40, 7, NOT_SYNC, 120),
        (40, 5, NOT_SYNC, 0),
        (700, 5, NOT_SYNC, 0),
    )
    facts = only_fragment(SampleRun(dts=0, samples=samples))
    assert [sample.cts for sample in facts.samples] == [0, 120, 40, 80]
    assert facts.end_cts == 820


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"number": 2}, "to track 2"),
        ({"header_flags": 0}, "default-base-is-moof"),
        ({"header_flags": 0x20001}, "default-base-is-moof"),
        ({"samples": ()}, "no samples"),
        ({"samples": ((40, 10, NOT_SYNC, 0),)}, "keyframe"),
        ({"count": 4}, "list of 4 samples"),
        ({"count": 2}, "list of 2 samples"),
        ({"count": 0xFFFFFFFF}, f"more than {MAX_SAMPLES} samples"),
        ({"data_offset": 0}, "declared at its byte 0"),
        ({"data_offset": -400}, "declared at its byte -400"),
        ({"mdat_bytes": 21}, "22 bytes in total, but its mdat box has 21"),
        ({"mdat_bytes": 23}, "22 bytes in total, but its mdat box has 23"),
    ],
)
def test_an_inconsistent_fragment_is_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(UnreadableMedia, match=message):
        only_fragment(replace(REORDERED, **change))  # type: ignore[arg-type]


def test_a_sample_count_without_bytes_is_refused() -> None:
    # All from defaults: the list itself is empty, whatever its length.
    run = full_box("trun", 1, (0xFFFFFFFF).to_bytes(4), (100).to_bytes(4))
    header = full_box("tfhd", 0x20000, (1).to_bytes(4))
    moof = box("moof", box("traf", header, full_box("tfdt", 0, bytes(4)), run))
    with pytest.raises(UnreadableMedia, match="more than"):
        split(INIT + moof + box("mdat"))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (INIT + box("mdat", b"x"), "0 moof boxes"),
        (INIT + fragment() * 2, "before the end of the previous one"),
        (INIT + INIT, "second moov"),
        (fragment(), "before its moov box"),
        (box("free") + box("mdat", b"x") + INIT, "not fragmented"),
        (INIT + fragment()[:-1], "ended inside the fragment that begins at byte"),
        (INIT[:-1], "ended before its moov box"),
        (b"", "ended before its moov box"),
        (INIT + box("styp", b"msdh"), "ended inside"),
        (INIT + (1 << 25).to_bytes(4) + b"moof", "at most"),
        (INIT + bytes(4) + b"moof", "has no length"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_fragments_out_of_sequence_are_refused(data: bytes, message: str) -> None:
    with pytest.raises(UnreadableMedia, match=message):
        split(data)


def test_two_trafs_are_refused() -> None:
    data = fragment().replace(b"mfhd", b"traf")
    with pytest.raises(UnreadableMedia):
        split(INIT + data)


SECOND = replace(REORDERED, dts=240)
WHOLE = INIT + box("styp", b"msdh") + fragment(REORDERED) + fragment(SECOND) + box("mfra", b"x")


@given(st.lists(st.integers(1, len(WHOLE)), max_size=12))
def test_fragments_are_the_same_however_the_bytes_arrive(cuts: list[int]) -> None:
    splitter = FragmentSplitter()
    found: list[InitSegment | FragmentSegment] = []
    places = [0, *sorted(set(cuts)), len(WHOLE)]
    for start, end in pairwise(places):
        found += splitter.feed(WHOLE[start:end])
    splitter.finish()
    assert found == split(WHOLE)
    assert b"".join(segment.data for segment in found) + box("mfra", b"x") == WHOLE


def test_a_splitter_continues_where_it_stopped() -> None:
    init, first, second = split(WHOLE)
    assert isinstance(init, InitSegment)
    assert isinstance(first, FragmentSegment)
    resumed = FragmentSplitter(init.facts, first.facts)
    assert list(resumed.feed(second.data)) == [second]
    resumed.finish()
    again = FragmentSplitter(init.facts, first.facts)
    with pytest.raises(UnreadableMedia, match="before the end of the previous one"):
        list(again.feed(first.data))


@given(
    st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 255)), min_size=1, max_size=8),
    st.integers(0, len(WHOLE)),
)
def test_changed_bytes_give_fragments_or_a_refusal(
    changes: list[tuple[int, int]], length: int
) -> None:
    changed = bytearray(WHOLE)
    for at, value in changes:
        changed[at % len(changed)] = value
    try:
        found = split(bytes(changed[:length]))
    except UnreadableMedia:
        return
    for segment in found[1:]:
        assert isinstance(segment, FragmentSegment)
        assert segment.facts.samples[-1].end == len(segment.data)
