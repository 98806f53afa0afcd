"""Cuts a local video into tracks and fragments to be streamed: packets are copied, never encoded.

The same video gives the same bytes each time, so a stream can be continued days later.
"""

import hashlib
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Final

from framekiln.client.errors import NotStreamable
from framekiln.media.isobmff.track_file import TrackFile
from framekiln.media.splitting.copying import copy_track
from framekiln.media.splitting.survey import survey
from framekiln.media.splitting.track_plan import TrackJob, plan_tracks

MAX_TRACKS: Final = 8


@dataclass(frozen=True)
class LocalPiece:
    """An init segment or fragment in a local track file; `start_s` is when it is decoded."""

    offset: int
    size_bytes: int
    start_s: Fraction
    sha256: bytes


@dataclass(frozen=True)
class LocalTrack:
    """A track file and how it is cut."""

    track_id: int
    type: str
    path: Path
    init: LocalPiece
    fragments: tuple[LocalPiece, ...]

    @property
    def size_bytes(self) -> int:
        """All of it."""
        return self.init.size_bytes + sum(each.size_bytes for each in self.fragments)

    def chain(self, fragment_count: int) -> bytes:
        """Return the sum of the init segment and the first fragments, as the service makes it."""
        so_far = self.init.sha256
        for fragment in self.fragments[:fragment_count]:
            so_far = hashlib.sha256(so_far + fragment.sha256).digest()
        return so_far

    def read(self, piece: LocalPiece) -> bytes:
        """Return the bytes of a piece."""
        with self.path.open("rb") as file:
            file.seek(piece.offset)
            return file.read(piece.size_bytes)


def cut_video(path: Path, folder: Path) -> list[LocalTrack]:
    """Write the tracks of a video into `folder`; raises `NotStreamable` where copying will not do.

    What is no readable video at all raises `UnreadableMedia`.
    """
    plan = plan_tracks(path, survey(path, lambda _: None))
    if len(plan.jobs) > MAX_TRACKS:
        raise _not_streamable(path, f"it has {len(plan.jobs)} tracks; a stream has {MAX_TRACKS}")
    for job in plan.jobs:
        if job.reason is not None:
            raise _not_streamable(path, f"track {job.track_id} ({job.type}): {job.reason}")
    return [_cut(path, folder, job) for job in plan.jobs]


def _cut(path: Path, folder: Path, job: TrackJob) -> LocalTrack:
    out = folder / f"{job.track_id}.mp4"
    copy_track(path, job.stream_index, out, tick=lambda: None)
    with TrackFile(out) as track, out.open("rb") as file:
        init = track.read_init()
        fragments = list(track.fragments(init))

        def piece(offset: int, size_bytes: int, dts: int) -> LocalPiece:
            file.seek(offset)
            digest = hashlib.sha256(file.read(size_bytes)).digest()
            return LocalPiece(offset, size_bytes, Fraction(dts, init.timescale), digest)

        return LocalTrack(
            track_id=job.track_id,
            type=job.type,
            path=out,
            init=piece(0, init.size_bytes, 0),
            fragments=tuple(piece(each.offset, each.size_bytes, each.dts) for each in fragments),
        )


def _not_streamable(path: Path, reason: str) -> NotStreamable:
    return NotStreamable(
        f"{path.name} cannot be streamed as it is: {reason}. `framekiln upload` without --stream"
        " takes it, and has it encoded anew."
    )
