"""The windows of a segment step: which part of the file each attempt processes. Pure.

Windows cover the file once, from where its first track begins to its end, without gaps. Each starts
on a fragment boundary and ends on the first boundary at which it is at least `window_ms` long; only
the last one, which ends where the file ends, may be shorter. The **overlap** is what a window may
look at before it begins: its media starts on the last boundary that is at least `overlap_ms`
earlier, so an overlap can be longer than asked for, or shorter at the beginning of the file.
Annotations belong to the window without its overlap, so that neighbours never report the same thing
twice.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from framekiln.pipelines.definition.model import Segmentation


@dataclass(frozen=True)
class Window:
    """From `start_ms` up to `end_ms`, after `overlap_ms` of media before it."""

    index: int
    start_ms: int
    end_ms: int
    overlap_ms: int
    """As it is, not as it was asked for."""

    @property
    def media_start_ms(self) -> int:
        """Where the media of this window begins."""
        return self.start_ms - self.overlap_ms

    def contains(self, start_ms: float, end_ms: float) -> bool:
        """Whether a time span lies inside the window."""
        return self.start_ms <= start_ms and end_ms <= self.end_ms

    def overlaps(self, start_ms: float, end_ms: float) -> bool:
        """Whether a time span and the window share more than an edge; an instant may be on it."""
        if start_ms == end_ms:
            return self.contains(start_ms, end_ms)
        return start_ms < self.end_ms and end_ms > self.start_ms


def complete_windows(
    boundaries_ms: Sequence[int], segmentation: Segmentation, *, is_sealed: bool
) -> tuple[Window, ...]:
    """Return the windows whose media is all there.

    `boundaries_ms` are where the fragments that have arrived begin, rising, and where the last of
    them ends. With more boundaries the same windows come back, followed by others. Once the upload
    `is_sealed`, the last boundary is the end of the file, and the rest makes the last window.
    """
    return tuple(_windows(boundaries_ms, segmentation, is_sealed=is_sealed))


def _windows(
    boundaries_ms: Sequence[int], segmentation: Segmentation, *, is_sealed: bool
) -> Iterator[Window]:
    index, start = 0, 0
    last = len(boundaries_ms) - 1
    while start < last:
        start_ms = boundaries_ms[start]
        end = bisect_left(boundaries_ms, start_ms + segmentation.window_ms, lo=start + 1)
        if end > last:
            if not is_sealed:
                return
            end = last
        media = bisect_right(boundaries_ms, start_ms - segmentation.overlap_ms, hi=start + 1) - 1
        overlap_ms = start_ms - boundaries_ms[max(media, 0)]
        yield Window(index, start_ms, boundaries_ms[end], overlap_ms)
        index, start = index + 1, end
