"""Waiting for what a worker makes, by notification, and not for ever."""

import time
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from framekiln.db.notify import Notifications
from framekiln.playback.model import MediaNotReady, SourceId, topic

_RETRY_AFTER_S: Final = 2
# A lost notification costs this much.
_LOOK_EVERY_S: Final = 2.0

Found = TypeVar("Found")


async def until(
    notifications: Notifications,
    source_id: SourceId,
    look: Callable[[], Awaitable[Found | None]],
    *,
    within_s: float,
) -> Found:
    """Return what `look` finds, as soon as it does, or raise `MediaNotReady`."""
    give_up_at = time.monotonic() + within_s
    async with notifications.follow(topic(source_id)) as follower:
        while (found := await look()) is None:
            left_s = give_up_at - time.monotonic()
            if left_s <= 0:
                raise MediaNotReady(
                    f"this is still being made; ask again in {_RETRY_AFTER_S} s",
                    retry_after_s=_RETRY_AFTER_S,
                )
            await follower.wait(min(left_s, _LOOK_EVERY_S))
    return found
