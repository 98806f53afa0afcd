"""Requests of an organization wait for each other, and for nobody else's."""

import asyncio
from itertools import count
from typing import Any, Self

import pytest
from starlette.types import Message, Receive, Scope, Send

from framekiln.api.middleware import RequestMiddleware
from framekiln.api.request_turns import RequestTurns, take_turn

FOREVER_S = 1e9
START: Message = {"type": "http.response.start", "status": 200, "headers": []}
END: Message = {"type": "http.response.body", "body": b""}


class App:
    """Answers a request when it is told to, or fails it."""

    def __init__(self, *, places: int = 2, hold_s: float = FOREVER_S) -> None:
        self.begun: list[str] = []
        self.begin: dict[str, asyncio.Future[None]] = {}
        self.bodies: dict[str, asyncio.Future[None]] = {}
        self._answers: dict[str, asyncio.Future[None]] = {}
        self._ends: dict[str, asyncio.Future[None]] = {}
        self._numbers = count()
        self.turns = RequestTurns(places=places, hold_s=hold_s)
        self._middleware = RequestMiddleware(self._app, turns=self.turns)
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def request(
        self, owner: str, *, reads_body: bool = False, listens: bool = False
    ) -> "asyncio.Task[None]":
        name = f"{owner}{next(self._numbers)}"
        futures = (self.begin, self.bodies, self._answers, self._ends)
        for each in futures:
            each[name] = asyncio.get_running_loop().create_future()
        scope: dict[str, Any] = {"type": "http", "method": "GET", "path": f"/{name}"}
        scope |= {"query_string": b"", "headers": [], "client": ("127.0.0.1", 1)}
        scope |= {"reads_body": reads_body, "listens": listens}

        async def receive() -> Message:
            await self.bodies[name]
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(_message: Message) -> None:
            return None

        task = asyncio.create_task(self._middleware(scope, receive, send))
        self._tasks.append(task)
        return task

    async def answer(self, name: str) -> None:
        self._answers[name].set_result(None)
        await settle()

    async def fail(self, name: str) -> None:
        self._answers[name].set_exception(RuntimeError("the handler failed"))
        await settle()

    async def end(self, name: str) -> None:
        self._ends[name].set_result(None)
        await settle()

    async def _app(self, scope: Scope, receive: Receive, send: Send) -> None:
        name = scope["path"][1:]
        await take_turn(scope, name[0])
        if scope["reads_body"]:
            await receive()
        self.begun.append(name)
        self.begin[name].set_result(None)
        await self._answers[name]
        # Whether the client leaves, as responses do that are streams.
        listener = asyncio.ensure_future(receive()) if scope["listens"] else None
        await asyncio.sleep(0)
        await send(START)
        await self._ends[name]
        await send(END)
        if listener is not None:
            listener.cancel()
            await asyncio.gather(listener, return_exceptions=True)


async def settle() -> None:
    """Let everything happen that waits for nothing."""
    for _ in range(20):
        await asyncio.sleep(0)


async def test_the_requests_of_one_organization_wait_and_others_do_not() -> None:
    async with App(places=2) as app:
        for _ in range(4):
            app.request("a")
        app.request("b")
        await settle()
        assert app.begun == ["a0", "a1", "b4"]
        await app.answer("a1")
        assert app.begun == ["a0", "a1", "b4", "a2"]
        await app.answer("a0")
        assert app.begun[-1] == "a3"


async def test_a_response_that_goes_on_has_no_place() -> None:
    """Such as a stream of events."""
    async with App(places=1) as app:
        app.request("a")
        await settle()
        await app.answer("a0")
        app.request("a")
        await settle()
        assert app.begun == ["a0", "a1"]
        await app.end("a0")
        app.request("a")
        await settle()
        assert app.begun == ["a0", "a1"]


async def test_a_request_that_waits_for_its_body_has_no_place() -> None:
    async with App(places=1) as app:
        app.request("a", reads_body=True)
        await settle()
        app.request("a")
        await settle()
        assert app.begun == ["a1"]
        app.bodies["a0"].set_result(None)
        await settle()
        assert app.begun == ["a1"]
        await app.answer("a1")
        assert app.begun == ["a1", "a0"]


async def test_a_place_ends_where_a_request_waits_for_something_else() -> None:
    async with App(places=1, hold_s=0.01) as app:
        app.request("a")
        app.request("a")
        await app.begin["a1"]


@pytest.mark.parametrize("waiting", [False, True], ids=["with a place", "in the queue"])
async def test_a_cancelled_request_leaves_its_place(*, waiting: bool) -> None:
    async with App(places=1) as app:
        tasks = [app.request("a") for _ in range(3)]
        await settle()
        tasks[waiting].cancel()
        await settle()
        if waiting:
            await app.answer("a0")
        assert app.begun == (["a0", "a2"] if waiting else ["a0", "a1"])


async def test_a_request_that_failed_leaves_its_place() -> None:
    async with App(places=1) as app:
        app.request("a")
        app.request("a")
        await settle()
        await app.fail("a0")
        assert app.begun == ["a0", "a1"]


@pytest.mark.parametrize("listens", [False, True])
async def test_nothing_is_kept_of_organizations_without_requests(*, listens: bool) -> None:
    async with App(places=1) as app:
        tasks = [app.request(owner, listens=listens) for owner in "aab"]
        await settle()
        for name in ("a0", "a1", "b2"):
            await app.answer(name)
            await app.end(name)
        await asyncio.gather(*tasks)
        assert not app.turns.places._held
