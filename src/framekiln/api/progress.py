"""How far something is, told as events until it ends: of renders, transcriptions and files alike.

Knows none of them: whatever can be followed, and says how far it is, is told of.
"""

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, aclosing
from typing import Final, Protocol, TypeVar

from fastapi import Request

from framekiln.api import sse
from framekiln.db.notify import Follower
from framekiln.jobs.failures import Failure

HEARTBEAT_S: Final = 15.0
# Progress is counted in thousandths; a client that adds them up must reach the sum only at the end.
PROGRESS_UNITS: Final = 1000


class ProgressStatus(Protocol):
    """A state of something, which is a text too."""

    @property
    def is_terminal(self) -> bool: ...


class ProgressState(Protocol):
    """How far something is, and why it failed if it did."""

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
    """Things that can be followed by their ids."""

    def follow(self, thing: Id_contra, /) -> AbstractAsyncContextManager[Follower]: ...

    async def progress(self, thing: Id_contra, /) -> Progress_co: ...


async def counted_events(
    followed: Followable[Id, ProgressState], thing: Id, request: Request
) -> AsyncGenerator[bytes, None]:
    """Say the same twice, for both kinds of clients: as counted units and as a fraction."""
    yield sse.event("size", {"size": PROGRESS_UNITS})
    told = 0

    def news(progress: ProgressState) -> bytes:
        nonlocal told
        units = min(PROGRESS_UNITS - 1, int(progress.fraction * PROGRESS_UNITS))
        if units <= told:
            return b""
        count, told = units - told, units
        counted = sse.event("completion", {"count": count})
        return counted + sse.event("progress", {"progress": progress.fraction})

    async with aclosing(progress_events(followed, thing, request, describe=news)) as events:
        async for event in events:
            yield event


async def progress_events(
    followed: Followable[Id, SomeProgress],
    thing: Id,
    request: Request,
    *,
    describe: Callable[[SomeProgress], bytes],
) -> AsyncGenerator[bytes, None]:
    """Tell how a thing ends, and until then what `news` makes of each state, if anything.

    Ends early when nobody listens any more.
    """
    async with followed.follow(thing) as follower:
        while True:
            progress = await followed.progress(thing)
            if progress.status.is_terminal:
                yield terminal_event(progress)
                return
            if told := describe(progress):
                yield told
            if not await follower.wait(HEARTBEAT_S):
                yield sse.event("heartbeat", {"status": progress.status})
            if await request.is_disconnected():
                return


def terminal_event(progress: ProgressState) -> bytes:
    """Return how it ended.

    One write: a client may not survive bytes that come after it thinks it is done.
    """
    if progress.failure is not None:
        return sse.error_event(f"{progress.failure.code}: {progress.failure.message}")
    return sse.event("progress", {"progress": 1.0}) + sse.event("complete", {})
