"""Methods of the client, written once for `Client` and for `AsyncClient`.

A method is a generator. It yields what it needs from outside (a request, a pause, something slow
on this machine) and receives the result; a connection performs these needs, synchronously or not.
"""

import functools
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Generator, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Concatenate, Final, Generic, ParamSpec, Protocol, Self, TypeVar, overload

import httpx

from framekiln.client.errors import ServiceUnreachable
from framekiln.client.responses import Json, OnFraction, is_last_event, json_object

_FIRST_PAUSE_S: Final = 0.2
_MAX_PAUSE_S: Final = 5.0

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Send:
    """One request; the result is its response. `options` are those of httpx."""

    method: str
    path: str
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Pause:
    """A pause; there is no result."""

    seconds: float


@dataclass(frozen=True)
class Follow:
    """A stream of events, until `on_event` returns True; the result is whether it did."""

    path: str
    on_event: Callable[[str, str], bool]


@dataclass(frozen=True)
class Save:
    """A download to a local file, which appears complete or not at all; there is no result."""

    path: str
    target: Path


@dataclass(frozen=True)
class Work:
    """Something slow on this machine; the result is what the function returns."""

    function: Callable[[], Any]


Need = Send | Pause | Follow | Save | Work
Steps = Generator[Need, Any, Result]


class Retry:
    """How long to retry when the service does not respond, with increasing pauses."""

    def __init__(self, retry_within_s: float) -> None:
        self._retry_within_s = retry_within_s
        self.record_progress()

    def record_progress(self) -> None:
        """Restart the time limit: there was progress."""
        self._deadline = time.monotonic() + self._retry_within_s
        self._pause_s = _FIRST_PAUSE_S

    def pause_after(self, error: ServiceUnreachable) -> Pause:
        """Return the pause before the next attempt, or raise the error if it is too late."""
        pause_s = max(self._pause_s, error.retry_after_s or 0)
        if time.monotonic() + pause_s > self._deadline:
            raise error
        self._pause_s = min(2 * self._pause_s, _MAX_PAUSE_S)
        return Pause(pause_s)


class AnyConnection(Protocol):
    """What a `ServiceConnection` and an `AsyncServiceConnection` have in common."""

    retry_within_s: float

    def perform(self, steps: Steps[Any]) -> Any:
        """Perform a method."""

    def iterate(self, items: "Items[Any]") -> Any:
        """Return an iterator over a list."""


class Synchronous(AnyConnection, Protocol):
    """A connection that returns results."""

    is_synchronous: bool


class Asynchronous(AnyConnection, Protocol):
    """A connection that returns awaitables."""

    is_asynchronous: bool


Connection_co = TypeVar("Connection_co", bound=AnyConnection, covariant=True)


class RemotePart(Generic[Connection_co]):
    """One part of the client: the methods about one kind of resource."""

    def __init__(self, connection: Connection_co) -> None:
        self._connection: Final = connection

    def _retry(self) -> Retry:
        return Retry(self._connection.retry_within_s)

    def _request(self, method: str, path: str, **options: Any) -> Steps[httpx.Response]:
        """Send a request until there is a response: only for idempotent requests."""
        return retried(self._retry(), Send(method, path, options))

    def _read(self, method: str, path: str, **options: Any) -> Steps[Json]:
        """Send an idempotent request and return the JSON of the response."""
        return json_object((yield from self._request(method, path, **options)))

    def _read_once(self, method: str, path: str, **options: Any) -> Steps[Json]:
        """Send a request once and return the JSON of the response."""
        return json_object((yield Send(method, path, options)))

    def _save(self, path: str, target: Path) -> Steps[None]:
        yield from retried(self._retry(), Save(path, target))

    def _follow(self, path: str, on_fraction: OnFraction) -> Steps[None]:
        """Return when a stream reports `complete`; raises `EndedBadly` with the reason."""
        retry = self._retry()

        def read(name: str, data: str) -> bool:
            retry.record_progress()
            return is_last_event(name, data, on_fraction)

        while not (yield from retried(retry, Follow(path, read))):
            yield retry.pause_after(ServiceUnreachable(f"{path} ended before its last event"))

    def _items(
        self, path: str, name: str, read: Callable[[Json], Result], **query: Any
    ) -> "Items[Result]":
        """Return what is listed under `name` on all pages; queries that are None are left out."""
        asked = {key: value for key, value in query.items() if value is not None}

        def page(cursor: Any) -> Steps[tuple[list[Result], Any]]:
            position = {} if cursor is None else {"cursor": cursor}
            raw = yield from self._read("GET", path, params={**asked, **position})
            return [read(each) for each in raw[name]], raw["next_cursor"]

        return Items(page)

    def _numbered_items(self, path: str, read: Callable[[Json], Result]) -> "Items[Result]":
        """Return what is listed on the numbered pages of v2."""

        def page(number: Any) -> Steps[tuple[list[Result], Any]]:
            query = {"page": number or 1, "per_page": 100}
            raw = yield from self._read("GET", path, params=query)
            last = raw["meta"]["current_page"] >= raw["meta"]["last_page"]
            following = None if last else raw["meta"]["current_page"] + 1
            return [read(each) for each in raw["data"]], following

        return Items(page)


def retried(retry: Retry, need: Need) -> Steps[Any]:
    """Repeat until it works, or the time limit is reached."""
    while True:
        try:
            return (yield need)
        except ServiceUnreachable as error:
            pause = retry.pause_after(error)
        yield pause


@dataclass(frozen=True)
class Items(Generic[Result]):
    """A list in pages: `page` returns the items after a cursor, and the next cursor or None."""

    page: Callable[[Any], Steps[tuple[list[Result], Any]]]


class Operation(Generic[Parameters, Result]):
    """A method: the client returns its result, the asynchronous client an awaitable of it."""

    def __init__(self, steps: Callable[Concatenate[Any, Parameters], Steps[Result]]) -> None:
        self.steps: Final = steps
        self.__doc__ = steps.__doc__

    @overload
    def __get__(self, part: None, owner: type) -> Self: ...
    @overload
    def __get__(
        self, part: RemotePart[Synchronous], owner: type
    ) -> Callable[Parameters, Result]: ...
    @overload
    def __get__(
        self, part: RemotePart[Asynchronous], owner: type
    ) -> Callable[Parameters, Coroutine[Any, Any, Result]]: ...
    def __get__(self, part: Any, owner: type) -> Any:
        if part is None:
            return self

        @functools.wraps(self.steps)
        def call(*arguments: Any, **options: Any) -> Any:
            return part._connection.perform(self.steps(part, *arguments, **options))

        return call


class Listing(Generic[Parameters, Result]):
    """A method that lists: an iterator, or an asynchronous iterator; pages come when needed."""

    def __init__(self, items: Callable[Concatenate[Any, Parameters], Items[Result]]) -> None:
        self.items: Final = items
        self.__doc__ = items.__doc__

    @overload
    def __get__(self, part: None, owner: type) -> Self: ...
    @overload
    def __get__(
        self, part: RemotePart[Synchronous], owner: type
    ) -> Callable[Parameters, Iterator[Result]]: ...
    @overload
    def __get__(
        self, part: RemotePart[Asynchronous], owner: type
    ) -> Callable[Parameters, AsyncIterator[Result]]: ...
    def __get__(self, part: Any, owner: type) -> Any:
        if part is None:
            return self

        @functools.wraps(self.items)
        def call(*arguments: Any, **options: Any) -> Any:
            return part._connection.iterate(self.items(part, *arguments, **options))

        return call


def operation(
    steps: Callable[Concatenate[Any, Parameters], Steps[Result]],
) -> Operation[Parameters, Result]:
    """Make a method of a generator."""
    return Operation(steps)


def listing(
    items: Callable[Concatenate[Any, Parameters], Items[Result]],
) -> Listing[Parameters, Result]:
    """Make a method that lists of a function that returns `Items`."""
    return Listing(items)
