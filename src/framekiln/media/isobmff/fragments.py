"""One fragment of a track file: a moof box that lists samples, and the mdat box that holds them.

`read_fragment` checks everything: one track, times, every sample inside the mdat, no unused bytes
in it, and a first sample that can be decoded alone. A verified fragment can be played on its own.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from framekiln.media.errors import UnreadableMedia
from framekiln.media.isobmff.boxes import BoxHeader, BoxReader, Mp4Box, boxes_in
from framekiln.media.isobmff.track_init import SampleDefaults, TrackInit

# Enough for an hour at 24 frames per second; an unchecked count can make a reader loop forever.
MAX_SAMPLES: Final = 100_000

_BASE_OFFSET: Final = 0x1
_SAMPLE_ENTRY: Final = 0x2
_DEFAULT_DURATION: Final = 0x8
_DEFAULT_SIZE: Final = 0x10
_DEFAULT_FLAGS: Final = 0x20
_BASE_IS_MOOF: Final = 0x20000

_DATA_OFFSET: Final = 0x1
_FIRST_FLAGS: Final = 0x4
_DURATIONS: Final = 0x100
_SIZES: Final = 0x200
_FLAGS: Final = 0x400
_COMPOSITION_OFFSETS: Final = 0x800
_PER_SAMPLE: Final = (_DURATIONS, _SIZES, _FLAGS, _COMPOSITION_OFFSETS)

_IS_NOT_SYNC: Final = 0x10000


class FragmentSample(NamedTuple):
    """One encoded video or audio frame; `offset` counts from the fragment's first byte."""

    offset: int
    size_bytes: int
    dts: int
    cts: int
    """Presentation time with the edit list applied; `dts` is as in the fragment."""
    duration: int
    is_sync: bool

    @property
    def end(self) -> int:
        """The position after its last byte."""
        return self.offset + self.size_bytes


@dataclass(frozen=True)
class MovieFragment:
    """A verified fragment. `offset` is its position in the track file."""

    offset: int
    size_bytes: int
    samples: tuple[FragmentSample, ...]

    @property
    def dts(self) -> int:
        """Decode time of its first sample."""
        return self.samples[0].dts

    @property
    def end_dts(self) -> int:
        """The earliest decode time at which the next fragment may begin."""
        return self.samples[-1].dts + self.samples[-1].duration

    @property
    def cts(self) -> int:
        """Earliest presentation time."""
        return min(sample.cts for sample in self.samples)

    @property
    def end_cts(self) -> int:
        """The end of the sample that is shown last."""
        # Durations are those between decode times. The last one in decode order is followed by
        # nothing that is decoded, so it states how long the sample that is shown last is shown.
        last = max(self.samples, key=lambda sample: sample.cts)
        return last.cts + (self.samples[-1].duration or last.duration)


def read_fragment(init: TrackInit, head: bytes, mdat: BoxHeader, *, offset: int) -> MovieFragment:
    """Verify a fragment from everything but its samples, or raise `UnreadableMedia`.

    `head` is the data before the mdat box; `offset` is its position in the track file.
    """
    where = f"the fragment at byte {offset}"
    try:
        moof = _only([*boxes_in(head)], "moof", "it")
        samples = _read_samples(init, moof)
        _check_places(samples, len(head) + mdat.header_bytes, mdat.size_bytes - mdat.header_bytes)
    except UnreadableMedia as error:
        raise UnreadableMedia(f"{where}: {error.message}") from error
    return MovieFragment(offset, len(head) + mdat.size_bytes, samples)


def check_follows(fragment: MovieFragment, previous: MovieFragment | None) -> None:
    """Refuse a fragment that begins before the previous one ends."""
    if previous is not None and fragment.dts < previous.end_dts:
        raise UnreadableMedia(
            f"the fragment at byte {fragment.offset} begins at {fragment.dts}, before the end of"
            f" the previous one ({previous.end_dts}); fragments must not overlap"
        )


def _only(boxes: Sequence[Mp4Box], kind: str, where: str) -> Mp4Box:
    found = [box for box in boxes if box.kind == kind]
    if len(found) != 1:
        raise UnreadableMedia(f"{where} has {len(found)} {kind} boxes, not one")
    return found[0]


def _read_samples(init: TrackInit, moof: Mp4Box) -> tuple[FragmentSample, ...]:
    parts = [*_only([*moof.children()], "traf", "its moof box").children()]
    defaults = _track_defaults(_only(parts, "tfhd", "its traf box").reader(), init)
    dts = _decode_time(_only(parts, "tfdt", "its traf box").reader())
    at: int | None = None
    samples: list[FragmentSample] = []
    for box in parts:
        if box.kind != "trun":
            continue
        run = _Run.read(box.reader(), defaults, max_samples=MAX_SAMPLES - len(samples))
        at = at if run.data_offset is None else moof.start + run.data_offset
        if at is None:
            raise UnreadableMedia("it does not give the offset of its samples")
        samples.extend(run.samples(at, dts, shift=init.shift))
        if samples:
            at, dts = samples[-1].end, samples[-1].dts + samples[-1].duration
    if not samples:
        raise UnreadableMedia("it has no samples")
    if not samples[0].is_sync:
        raise UnreadableMedia("it does not begin with a keyframe, so it cannot be decoded alone")
    return tuple(samples)


def _track_defaults(fields: BoxReader, init: TrackInit) -> SampleDefaults:
    _, flags = fields.version_and_flags()
    number = fields.u32()
    if number != init.number:
        raise UnreadableMedia(
            f"it belongs to track {number}, but the file's track is {init.number}"
        )
    if flags & _BASE_OFFSET or not flags & _BASE_IS_MOOF:
        raise UnreadableMedia(
            "it does not count its offsets from its own start (default-base-is-moof)"
        )
    if flags & _SAMPLE_ENTRY:
        fields.skip(4)
    return SampleDefaults(
        duration=fields.u32() if flags & _DEFAULT_DURATION else init.defaults.duration,
        size_bytes=fields.u32() if flags & _DEFAULT_SIZE else init.defaults.size_bytes,
        flags=fields.u32() if flags & _DEFAULT_FLAGS else init.defaults.flags,
    )


def _decode_time(fields: BoxReader) -> int:
    version, _ = fields.version_and_flags()
    return fields.u64() if version else fields.u32()


@dataclass(frozen=True)
class _Run:
    """A trun box: consecutive samples."""

    version: int
    flags: int
    count: int
    data_offset: int | None
    first_flags: int | None
    defaults: SampleDefaults
    table: BoxReader

    @classmethod
    def read(cls, fields: BoxReader, defaults: SampleDefaults, *, max_samples: int) -> "_Run":
        version, flags = fields.version_and_flags()
        count = fields.u32()
        if count > max_samples:
            raise UnreadableMedia(f"it declares more than {MAX_SAMPLES} samples")
        data_offset = fields.i32() if flags & _DATA_OFFSET else None
        first_flags = fields.u32() if flags & _FIRST_FLAGS else None
        entry_bytes = 4 * sum(bool(flags & bit) for bit in _PER_SAMPLE)
        if count * entry_bytes != fields.left_bytes:
            raise UnreadableMedia(
                f"its list of {count} samples has {fields.left_bytes} bytes,"
                f" but needs {count * entry_bytes}"
            )
        return cls(version, flags, count, data_offset, first_flags, defaults, fields)

    def samples(self, at: int, dts: int, *, shift: int) -> Iterator[FragmentSample]:
        table, flags, defaults = self.table, self.flags, self.defaults
        for number in range(self.count):
            duration = table.u32() if flags & _DURATIONS else defaults.duration
            size_bytes = table.u32() if flags & _SIZES else defaults.size_bytes
            has_first_flags = number == 0 and self.first_flags is not None
            own_flags = table.u32() if flags & _FLAGS else defaults.flags
            sample_flags = self.first_flags if has_first_flags else own_flags
            cts = dts + self._composition_offset() - shift
            yield FragmentSample(
                at, size_bytes, dts, cts, duration, not (sample_flags or 0) & _IS_NOT_SYNC
            )
            at += size_bytes
            dts += duration

    def _composition_offset(self) -> int:
        if not self.flags & _COMPOSITION_OFFSETS:
            return 0
        return self.table.i32() if self.version else self.table.u32()


def _check_places(samples: Sequence[FragmentSample], start: int, mdat_bytes: int) -> None:
    """Check that samples fill the mdat from its first byte to its last, in order."""
    at = start
    for sample in samples:
        if sample.offset != at:
            raise UnreadableMedia(f"a sample is declared at its byte {sample.offset}, not {at}")
        at = sample.end
    if at != start + mdat_bytes:
        raise UnreadableMedia(
            f"its samples have {at - start} bytes in total, but its mdat box has {mdat_bytes}"
        )
