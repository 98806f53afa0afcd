"""Connections to the service: they perform what the methods of the client need."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import closing
from functools import cache
from typing import TYPE_CHECKING, Any, Final, TypeVar

import httpx

from framekiln.client.operations import Follow, Items, Need, Pause, Save, Send, Steps, Work
from framekiln.client.responses import (
    EventReader,
    raise_for_error,
    translate_transport_errors,
    whole_file,
)

if TYPE_CHECKING:
    from ssl import SSLContext

RETRY_WITHIN_S: Final = 120.0
"""How long a request is retried."""
_NOT_RUNNING: Final = "; start it, or set FRAMEKILN_BASE_URL to the address of another"
_TIMEOUT: Final = httpx.Timeout(60.0, connect=10.0)

Result = TypeVar("Result")


class ServiceConnection:
    """A connection to one service with one key. `sleep` and `transport` are for tests."""

    is_synchronous: bool = True

    def __init__(
        self,
        base_url: str,
        api_key: str | None,
        *,
        retry_within_s: float = RETRY_WITHIN_S,
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.retry_within_s = retry_within_s
        self._sleep = sleep
        self._http = httpx.Client(
            base_url=base_url,
            headers=_headers(api_key),
            timeout=_TIMEOUT,
            transport=transport,
            verify=_authorities(),
        )

    def close(self) -> None:
        """Close open connections."""
        self._http.close()

    def perform(self, steps: Steps[Result]) -> Result:
        """Perform a method and return its result."""
        result: Any = None
        error: Exception | None = None
        # Closed even when interrupted: a method may have temporary files.
        with closing(steps):
            while True:
                try:
                    need = steps.send(result) if error is None else steps.throw(error)
                except StopIteration as end:
                    found: Result = end.value
                    return found
                result, error = None, None
                try:
                    result = self._provide(need)
                except Exception as raised:
                    error = raised

    def iterate(self, items: Items[Result]) -> Iterator[Result]:
        """Yield the items of a list; the next page is requested when it is needed."""
        cursor = None
        while True:
            page, cursor = self.perform(items.page(cursor))
            yield from page
            if cursor is None:
                return

    def _provide(self, need: Need) -> Any:
        match need:
            case Pause(seconds):
                return self._sleep(seconds)
            case Work(function):
                return function()
        with translate_transport_errors(self._http.base_url):
            match need:
                case Send(method, path, options):
                    answer = self._http.request(method, path, **options)
                    raise_for_error(answer)
                    return answer
                case Follow():
                    return self._follow(need)
                case Save():
                    return self._save(need)

    def _follow(self, need: Follow) -> bool:
        reader = EventReader()
        with self._http.stream("GET", need.path) as answer:
            _check_head(answer)
            for line in answer.iter_lines():
                event = reader.read(line)
                if event is not None and need.on_event(*event):
                    return True
        return False

    def _save(self, need: Save) -> None:
        with self._http.stream("GET", need.path) as answer:
            _check_head(answer)
            with whole_file(need.target) as file:
                for chunk in answer.iter_bytes():
                    file.write(chunk)


class AsyncServiceConnection:
    """The same for asyncio; files are read and written in threads or in small parts."""

    is_asynchronous: bool = True

    def __init__(
        self,
        base_url: str,
        api_key: str | None,
        *,
        retry_within_s: float = RETRY_WITHIN_S,
        transport: httpx.AsyncBaseTransport | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.retry_within_s = retry_within_s
        self._sleep = sleep
        self._http = httpx.AsyncClient(
            base_url=base_url,
            headers=_headers(api_key),
            timeout=_TIMEOUT,
            transport=transport,
            verify=_authorities(),
        )

    async def close(self) -> None:
        """Close open connections."""
        await self._http.aclose()

    async def perform(self, steps: Steps[Result]) -> Result:
        """Perform a method and return its result."""
        result: Any = None
        error: Exception | None = None
        # Closed even when interrupted: a method may have temporary files.
        with closing(steps):
            while True:
                try:
                    need = steps.send(result) if error is None else steps.throw(error)
                except StopIteration as end:
                    found: Result = end.value
                    return found
                result, error = None, None
                try:
                    result = await self._provide(need)
                except Exception as raised:
                    error = raised

    async def iterate(self, items: Items[Result]) -> AsyncIterator[Result]:
        """Yield the items of a list; the next page is requested when it is needed."""
        cursor = None
        while True:
            page, cursor = await self.perform(items.page(cursor))
            for item in page:
                yield item
            if cursor is None:
                return

    async def _provide(self, need: Need) -> Any:
        match need:
            case Pause(seconds):
                return await self._sleep(seconds)
            case Work(function):
                return await asyncio.to_thread(function)
        with translate_transport_errors(self._http.base_url):
            match need:
                case Send(method, path, options):
                    answer = await self._http.request(method, path, **options)
                    raise_for_error(answer)
                    return answer
                case Follow():
                    return await self._follow(need)
                case Save():
                    return await self._save(need)

    async def _follow(self, need: Follow) -> bool:
        reader = EventReader()
        async with self._http.stream("GET", need.path) as answer:
            await _check_async_head(answer)
            async for line in answer.aiter_lines():
                event = reader.read(line)
                if event is not None and need.on_event(*event):
                    return True
        return False

    async def _save(self, need: Save) -> None:
        async with self._http.stream("GET", need.path) as answer:
            await _check_async_head(answer)
            with whole_file(need.target) as file:
                async for chunk in answer.aiter_bytes():
                    await asyncio.to_thread(file.write, chunk)


def require_running(base_url: str) -> None:
    """Raise `ServiceUnreachable` immediately if the service does not respond."""
    with (
        httpx.Client(base_url=base_url, timeout=_TIMEOUT, verify=_authorities()) as http,
        translate_transport_errors(http.base_url, remedy=_NOT_RUNNING),
    ):
        raise_for_error(http.get("/healthz"))


@cache
def _authorities() -> "SSLContext":
    """Return the certificate authorities to trust; reading them takes as long as ten requests."""
    return httpx.create_ssl_context()


def _headers(api_key: str | None) -> dict[str, str]:
    return {"Authorization": f"Bearer {api_key}"} if api_key else {}


def _check_head(answer: httpx.Response) -> None:
    if not answer.is_success:
        answer.read()
    raise_for_error(answer)


async def _check_async_head(answer: httpx.Response) -> None:
    if not answer.is_success:
        await answer.aread()
    raise_for_error(answer)
