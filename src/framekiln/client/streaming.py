"""Sends a local video as a stream of fragments, those of all tracks in the order of time."""

import base64
import heapq
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from framekiln.client.connection import Connection, Json
from framekiln.client.errors import OtherMedia
from framekiln.client.local_tracks import LocalPiece, LocalTrack
from framekiln.client.uploading import OnBytes


def begin_stream(
    connection: Connection, filename: str, tracks: Sequence[LocalTrack], expires_at: str | None
) -> Json:
    """Register the stream and return its state."""
    body = {
        "filename": filename,
        "tracks": [{"track_id": track.track_id, "type": track.type} for track in tracks],
        "expires_at": expires_at,
    }
    # Not patiently: a second try could begin a second stream.
    answer: Json = connection.ask_once("POST", "/api/v1/files/stream", json=body).json()
    return answer


def send_stream(
    connection: Connection, stream: Json, tracks: Sequence[LocalTrack], on_bytes: OnBytes
) -> Json:
    """Send what is missing of a stream, and seal it; return what is said of the file then."""
    address = f"/api/v1/files/{stream['id']}/stream"
    there = {each["track_id"]: each for each in stream["tracks"]}
    _check_same(stream, there, tracks)
    total = sum(track.size_bytes for track in tracks)
    sent = sum(each["byte_size"] for each in there.values())
    on_bytes(sent, total)
    for track in tracks:
        if not there[track.track_id]["has_init"]:
            _put(connection, f"{address}/{track.track_id}/init", track, track.init)
            sent += track.init.size_bytes
    for track, number in in_order(tracks, {key: each["next"] for key, each in there.items()}):
        piece = track.fragments[number]
        _put(connection, f"{address}/{track.track_id}/{number}", track, piece)
        sent += piece.size_bytes
        on_bytes(sent, total)
    counts = {str(track.track_id): {"fragments": len(track.fragments)} for track in tracks}
    return connection.ask_json("POST", f"{address}/seal", json={"tracks": counts})


def in_order(
    tracks: Sequence[LocalTrack], first: Mapping[int, int]
) -> Iterator[tuple[LocalTrack, int]]:
    """Yield the fragments of all tracks from given numbers on, in the order of time."""
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
    """Refuse to go on with another video than the stream began with."""
    is_same = {(track.track_id, track.type) for track in tracks} == {
        (each["track_id"], each["type"]) for each in there.values()
    } and all(_is_same(there[track.track_id], track) for track in tracks)
    if not is_same:
        raise OtherMedia(
            f"the stream {stream['id']} ({stream['filename']}) was begun with another video; it"
            " can be continued only with the same one"
        )


def _is_same(there: Mapping[str, Any], track: LocalTrack) -> bool:
    if there["sha256"] is None:
        return True
    is_short_enough: bool = there["next"] <= len(track.fragments)
    return is_short_enough and track.chain(there["next"]).hex() == there["sha256"]


def _put(connection: Connection, address: str, track: LocalTrack, piece: LocalPiece) -> None:
    digest = base64.b64encode(piece.sha256).decode()
    headers = {"Content-Digest": f"sha-256=:{digest}:"}
    connection.ask("PUT", address, content=track.read(piece), headers=headers)
