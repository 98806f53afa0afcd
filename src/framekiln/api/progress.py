"""Progress as an event stream until the end, for renders, transcriptions and files.

It knows none of them: it works with everything that is `Followable`.
"""

import time
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, aclosing
from typing import Final, Protocol, TypeVar

from fastapi import Request

from framekiln.api import sse
from framekiln.api.auth import repeated_authentication, services_of
from framekiln.db.notify import Follower
from framekiln.identity.model import Caller
from framekiln.jobs.failures import Failure

# Progress is counted in thousandths; their sum must reach the total only at the end.
PROGRESS_UNITS: Final = 1000


class ProgressStatus(Protocol):
    """A status, which is also a string."""

    @property
    def is_terminal(self) -> bool: ...


class ProgressState(Protocol):
    """The progress of something, and its error if it failed."""

    @property
    def status(self) -> ProgressStatus: ...

    @property
    def fraction(self) -> float: ...

    @property
    def failure(self) -> Failure | None: ...


Id_contra = TypeVar("Id_contra", contravariant=True)
Progress_co = TypeVar("Progress_co", bound=ProgressState, covariant=True)
Id = TypeVar("Id")
SomeProgress = TypeVar("SomeProgress", bound=ProgressState)


class Followable(Protocol[Id_contra, Progress_co]):
    """A service whose resources can be followed by id."""

    def follow(self, thing: Id_contra, /) -> AbstractAsyncContextManager[Follower]: ...

    async def progress(self, thing: Id_contra, /) -> Progress_co: ...


def progress_response(
    request: Request, caller: Caller, events: sse.EncodedEvents
) -> sse.EventStream:
    """Answer with events of progress, or raise `TooManyStreams`."""
    places: sse.StreamPlaces = request.app.state.stream_places
    settings = services_of(request).settings
    place = places.take(
        caller,
        per_key=settings.event_streams_per_key,
        per_organization=settings.event_streams_per_organization,
    )
    return sse.stream_response(events, repeated_authentication(request, caller), place)


async def counted_events(
    followed: Followable[Id, ProgressState], thing: Id, request: Request
) -> AsyncGenerator[bytes, None]:
    """Yield progress in two forms, for both kinds of clients: counted units and a fraction."""
    yield sse.event("size", {"size": PROGRESS_UNITS})
    sent = 0

    def describe(progress: ProgressState) -> bytes:
        nonlocal sent
        units = min(PROGRESS_UNITS - 1, int(progress.fraction * PROGRESS_UNITS))
        if units <= sent:
            return b""
        count, sent = units - sent, units
        counted = sse.event("completion", {"count": count})
        return counted + sse.event("progress", {"progress": progress.fraction})

    async with aclosing(progress_events(followed, thing, request, describe=describe)) as events:
        async for event in events:
            yield event


async def progress_events(
    followed: Followable[Id, SomeProgress],
    thing: Id,
    request: Request,
    *,
    describe: Callable[[SomeProgress], bytes],
) -> AsyncGenerator[bytes, None]:
    """Yield the events that `describe` returns for each state, then the terminal event.

    Ends early when the client has disconnected.
    """
    async with followed.follow(thing) as follower:
        sent_at_s = time.monotonic()
        while True:
            progress = await followed.progress(thing)
            if progress.status.is_terminal:
                yield terminal_event(progress)
                return
            event = describe(progress)
            # Also while changes come that nobody sees, such as frames of a very long film.
            if not event and time.monotonic() - sent_at_s >= sse.HEARTBEAT_S:
                event = sse.event("heartbeat", {"status": progress.status})
            if event:
                yield event
                sent_at_s = time.monotonic()
            await follower.wait(max(0.0, sent_at_s + sse.HEARTBEAT_S - time.monotonic()))
            if await request.is_disconnected():
                return


def terminal_event(progress: ProgressState) -> bytes:
    """Return the terminal event.

    It is one write: some clients fail on bytes after the end.
    """
    if progress.failure is not None:
        return sse.error_event(f"{progress.failure.code}: {progress.failure.message}")
    return sse.event("progress", {"progress": 1.0}) + sse.event("complete", {})
