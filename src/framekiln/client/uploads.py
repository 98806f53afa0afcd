"""Uploads local files, whole in chunks or as a stream of fragments.

For a stream, a local video is cut into tracks and fragments: packets are copied, never encoded. The
same video gives the same bytes each time, so a stream can be continued later.
"""

import base64
import functools
import hashlib
import heapq
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from framekiln.client.errors import (
    LocalFileUnusable,
    NotStreamable,
    OtherMedia,
    ServiceUnreachable,
)
from framekiln.client.operations import Connection_co, RemotePart, Send, Steps, Work
from framekiln.client.responses import Json, json_object

if TYPE_CHECKING:
    from framekiln.media.tracks.track_plan import PlannedTrack

MAX_TRACKS: Final = 8


@dataclass(frozen=True)
class LocalFragment:
    """An init segment or fragment in a local track file; `start_s` is its decoding time."""

    offset: int
    size_bytes: int
    start_s: Fraction
    sha256: bytes


@dataclass(frozen=True)
class LocalTrack:
    """A track file and its fragments."""

    track_id: int
    type: str
    path: Path
    init: LocalFragment
    fragments: tuple[LocalFragment, ...]

    @property
    def size_bytes(self) -> int:
        """Its total size."""
        return self.init.size_bytes + sum(each.size_bytes for each in self.fragments)

    def chained_digest(self, fragment_count: int) -> bytes:
        """Return the chained digest of init segment and first fragments, as the service does."""
        so_far = self.init.sha256
        for fragment in self.fragments[:fragment_count]:
            so_far = hashlib.sha256(so_far + fragment.sha256).digest()
        return so_far

    def read(self, piece: LocalFragment) -> bytes:
        """Return the bytes of a fragment."""
        with self.path.open("rb") as file:
            file.seek(piece.offset)
            return file.read(piece.size_bytes)


def split_video(path: Path, folder: Path) -> list[LocalTrack]:
    """Write the tracks of a video to `folder`; raises `NotStreamable` if they cannot be copied.

    A file that is not a readable video raises `UnreadableMedia`.
    """
    # These import the libraries of media, which other commands do not need.
    from framekiln.media.tracks.packet_tally import tally_packets  # noqa: PLC0415
    from framekiln.media.tracks.track_plan import plan_tracks  # noqa: PLC0415

    plan = plan_tracks(path, tally_packets(path, lambda _: None))
    if len(plan.planned_tracks) > MAX_TRACKS:
        raise _not_streamable(
            path, f"it has {len(plan.planned_tracks)} tracks; a stream can have {MAX_TRACKS}"
        )
    for job in plan.planned_tracks:
        if job.reason is not None:
            raise _not_streamable(path, f"track {job.track_id} ({job.type}): {job.reason}")
    return [_split_track(path, folder, job) for job in plan.planned_tracks]


def _split_track(path: Path, folder: Path, job: "PlannedTrack") -> LocalTrack:
    from framekiln.media.isobmff.track_file import TrackFile  # noqa: PLC0415
    from framekiln.media.tracks.track_copy import copy_track  # noqa: PLC0415

    out = folder / f"{job.track_id}.mp4"
    copy_track(path, job.stream_index, out, tick=lambda: None)
    with TrackFile(out) as track, out.open("rb") as file:
        init = track.read_init()
        fragments = list(track.fragments(init))

        def piece(offset: int, size_bytes: int, dts: int) -> LocalFragment:
            file.seek(offset)
            digest = hashlib.sha256(file.read(size_bytes)).digest()
            return LocalFragment(offset, size_bytes, Fraction(dts, init.timescale), digest)

        return LocalTrack(
            track_id=job.track_id,
            type=job.type,
            path=out,
            init=piece(0, init.size_bytes, 0),
            fragments=tuple(piece(each.offset, each.size_bytes, each.dts) for each in fragments),
        )


def _not_streamable(path: Path, reason: str) -> NotStreamable:
    return NotStreamable(
        f"{path.name} cannot be streamed unchanged: {reason}. `framekiln upload` without --stream"
        " accepts it and re-encodes it."
    )


CHUNK_BYTES: Final = 8 << 20

OnBytes = Callable[[int, int], None]
"""Gets the number of bytes sent so far, and the total."""


def file_md5(path: Path) -> str:
    """Return the MD5 of a local file, by which the service finds it again."""
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False))
    except OSError as error:
        raise LocalFileUnusable(f"cannot read {path}: {error.strerror}") from error
    return digest.hexdigest()


def file_size(path: Path) -> int:
    """Return the size of a local file; an empty one cannot be uploaded."""
    try:
        size_bytes = path.stat().st_size
    except OSError as error:
        raise LocalFileUnusable(f"cannot read {path}: {error.strerror}") from error
    if not path.is_file() or size_bytes == 0:
        raise LocalFileUnusable(f"{path} is empty, or not a file")
    return size_bytes


def open_local(path: Path) -> BinaryIO:
    """Open a local file that is to be sent."""
    file_size(path)
    return path.open("rb")


def _read_chunk(path: Path, next_byte: int, size_bytes: int) -> dict[str, Any]:
    """Return the content and the headers of the next part of a file."""
    # All bytes may be uploaded but not joined: sending the last byte again triggers that.
    start = min(next_byte, size_bytes - 1)
    with path.open("rb") as file:
        file.seek(start)
        data = file.read(min(CHUNK_BYTES, size_bytes - start))
    end = start + len(data)
    if end < min(start + CHUNK_BYTES, size_bytes):
        raise LocalFileUnusable(f"{path} became shorter during the upload")
    headers = {"Content-Range": f"bytes {start}-{end - 1}/{size_bytes}"}
    return {"content": data, "headers": headers}


class RemoteUploads(RemotePart[Connection_co]):
    """What uploads of files need."""

    def send_file(self, address: str, path: Path, on_bytes: OnBytes) -> Steps[Json]:
        """Send the missing bytes of a file to its upload URL; return the last response."""
        size_bytes = file_size(path)
        retry = self._retry()
        while True:
            # After any error, the service knows how much it has received.
            try:
                state = json_object((yield Send("GET", address)))
                while not state["complete"]:
                    on_bytes(state["next_byte"], size_bytes)
                    before = state["next_byte"]
                    chunk = yield Work(functools.partial(_read_chunk, path, before, size_bytes))
                    state = json_object((yield Send("POST", address, chunk)))
                    if state["next_byte"] > before:
                        retry.record_progress()
                on_bytes(size_bytes, size_bytes)
                return state
            except ServiceUnreachable as error:
                pause = retry.pause_after(error)
            yield pause

    def begin_stream(
        self, filename: str, tracks: Sequence[LocalTrack], expires_at: str | None
    ) -> Steps[Json]:
        """Register the stream and return its state."""
        body = {
            "filename": filename,
            "tracks": [{"track_id": track.track_id, "type": track.type} for track in tracks],
            "expires_at": expires_at,
        }
        # Without retries: a second attempt could start a second stream.
        return (yield from self._read_once("POST", "/api/v1/files/stream", json=body))

    def send_stream(
        self, stream: Json, tracks: Sequence[LocalTrack], on_bytes: OnBytes
    ) -> Steps[Json]:
        """Send the missing fragments of a stream, and seal it; return the file's state."""
        address = f"/api/v1/files/{stream['id']}/stream"
        there = {each["track_id"]: each for each in stream["tracks"]}
        _check_same(stream, there, tracks)
        total = sum(track.size_bytes for track in tracks)
        sent = sum(each["byte_size"] for each in there.values())
        on_bytes(sent, total)
        for track in tracks:
            if not there[track.track_id]["has_init"]:
                yield from self._put(f"{address}/{track.track_id}/init", track, track.init)
                sent += track.init.size_bytes
        for track, number in fragments_by_time(
            tracks, {key: each["next"] for key, each in there.items()}
        ):
            piece = track.fragments[number]
            yield from self._put(f"{address}/{track.track_id}/{number}", track, piece)
            sent += piece.size_bytes
            on_bytes(sent, total)
        counts = {str(track.track_id): {"fragments": len(track.fragments)} for track in tracks}
        return (yield from self._read("POST", f"{address}/seal", json={"tracks": counts}))

    def _put(self, address: str, track: LocalTrack, piece: LocalFragment) -> Steps[None]:
        digest = base64.b64encode(piece.sha256).decode()
        headers = {"Content-Digest": f"sha-256=:{digest}:"}
        data = yield Work(lambda: track.read(piece))
        yield from self._request("PUT", address, content=data, headers=headers)


def fragments_by_time(
    tracks: Sequence[LocalTrack], first: Mapping[int, int]
) -> Iterator[tuple[LocalTrack, int]]:
    """Yield the fragments of all tracks from the given numbers on, in order of time."""
    flows = (
        [
            (track.fragments[number].start_s, track.track_id, number)
            for number in range(first[track.track_id], len(track.fragments))
        ]
        for track in tracks
    )
    by_id = {track.track_id: track for track in tracks}
    for _, track_id, number in heapq.merge(*flows):
        yield by_id[track_id], number


def _check_same(
    stream: Json, there: Mapping[int, Mapping[str, Any]], tracks: Sequence[LocalTrack]
) -> None:
    """Raise if the video is not the one that the stream was started with."""
    is_same = {(track.track_id, track.type) for track in tracks} == {
        (each["track_id"], each["type"]) for each in there.values()
    } and all(_is_same(there[track.track_id], track) for track in tracks)
    if not is_same:
        raise OtherMedia(
            f"the stream {stream['id']} ({stream['filename']}) was started with another video; it"
            " can only be continued with the same one"
        )


def _is_same(there: Mapping[str, Any], track: LocalTrack) -> bool:
    if there["sha256"] is None:
        return True
    is_short_enough: bool = there["next"] <= len(track.fragments)
    return is_short_enough and track.chained_digest(there["next"]).hex() == there["sha256"]
