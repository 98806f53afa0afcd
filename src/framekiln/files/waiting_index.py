"""An index may come before its tracks: it waits, and with the last of them the file is ready.

Everything here happens in the caller's transaction, under the row of the file.
"""

from dataclasses import replace
from datetime import datetime

from framekiln.db.notify import notify
from framekiln.db.pool import Connection
from framekiln.files import store
from framekiln.files.errors import InvalidIndex
from framekiln.files.index_check import no_mp4
from framekiln.files.model import Track, WaitingIndex, topic
from framekiln.files.news import FileNews
from framekiln.files.tracks import store as track_store
from framekiln.jobs.ending import failure_of
from framekiln.kit.ids import FileId


async def use_index(
    connection: Connection, file_id: FileId, index: WaitingIndex, *, news: FileNews, now: datetime
) -> None:
    """Make the file ready if its index needs no more tracks; else let the index wait."""
    if index.needs:
        await track_store.put_waiting_index(connection, file_id, index)
        return
    await track_store.forget_waiting_index(connection, file_id)
    if await store.set_ready(connection, file_id, index.facts, has_source=False, now=now):
        await news.tell(connection, file_id)
    await notify(connection, topic(file_id))


async def use_track(
    connection: Connection, track: Track, *, is_mp4: bool, news: FileNews, now: datetime
) -> None:
    """A track is complete: if an index waits for it, the file comes nearer to ready, or fails."""
    file_id = track.file_id
    index = await track_store.find_waiting_index(connection, file_id)
    if index is None or track.track_id not in index.needs:
        return
    error = _misfit(index, track, is_mp4=is_mp4)
    if error is None:
        needs = {each: size for each, size in index.needs.items() if each != track.track_id}
        await use_index(connection, file_id, replace(index, needs=needs), news=news, now=now)
        return
    await track_store.forget_waiting_index(connection, file_id)
    if await store.fail(connection, file_id, failure_of(error), now=now):
        await news.tell(connection, file_id)
    await notify(connection, topic(file_id))


def _misfit(index: WaitingIndex, track: Track, *, is_mp4: bool) -> InvalidIndex | None:
    needed = index.needs[track.track_id]
    if track.byte_size < needed:
        return InvalidIndex(
            f"the index points at byte {needed} of track {track.track_id}, which has"
            f" {track.byte_size}: upload an index that fits"
        )
    return None if is_mp4 else no_mp4(track.track_id)
