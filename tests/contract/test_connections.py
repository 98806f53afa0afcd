"""Limits of connections, with a real server: late clients are cut off, others are served."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import Any, cast

import uvicorn
from structlog.testing import capture_logs

from framekiln.api.connections import (
    MAX_HEAD_BYTES,
    MAX_PIPELINED,
    MAX_UNREAD_BYTES,
    MIN_BODY_BYTES,
    ConnectionLimits,
    ConnectionTable,
    Phase,
    WaitingTime,
)
from tests.support.timeouts import TIMEOUT_S, increasing_limits

LIMITS = ConnectionLimits(TIMEOUT_S, TIMEOUT_S, connections=50, connections_per_address=0)
# For requests that never end: however slow the machine is, nothing else can end them.
SHORT = replace(LIMITS, head_timeout_s=0.5)
ENDED = asyncio.Event()
GET = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
POST = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5000\r\n\r\n"


async def app(scope: Any, receive: Any, send: Any) -> None:
    """Answer with the number of bytes received; a path `/early` is answered without the body.

    `/events` goes on until the client has disconnected.
    """
    if scope["path"] == "/events":
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"begun", "more_body": True})
        while (await receive())["type"] != "http.disconnect":
            pass
        ENDED.set()
        return
    size_bytes, more = 0, scope["path"] != "/early"
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        size_bytes += len(message["body"])
        more = message["more_body"]
    body = b"%d bytes" % size_bytes
    headers = [(b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


@asynccontextmanager
async def serving(
    limits: ConnectionLimits, *, has_broken: bool = False
) -> AsyncIterator["ConnectionOpener"]:
    """Serve `app` with these limits; `has_broken` adds a connection without a transport."""
    table = ConnectionTable(limits)
    config = uvicorn.Config(
        cast(Any, app),
        port=0,
        log_config=None,
        lifespan="off",
        ws="none",
        http=cast(type[asyncio.Protocol], table.protocol),
        timeout_keep_alive=int(TIMEOUT_S),
    )
    server = uvicorn.Server(config)
    config.load()
    server.lifespan = config.lifespan_class(config)
    if has_broken:
        table.add(table.protocol(config=config, server_state=server.server_state, app_state={}))
    watching = asyncio.create_task(table.watch())
    await server.startup()
    dialer = ConnectionOpener(server.servers[0].sockets[0].getsockname()[1])
    try:
        yield dialer
    finally:
        await dialer.close()
        server.should_exit = True
        await server.shutdown()
        watching.cancel()


class ConnectionOpener:
    """Opens connections."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._writers: list[asyncio.StreamWriter] = []

    async def send(self, data: bytes) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        self._writers.append(writer)
        writer.write(data)
        await writer.drain()
        return reader, writer

    async def close(self) -> None:
        for writer in self._writers:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()


async def read_all(reader: asyncio.StreamReader) -> bytes:
    """Read to the end of the connection."""
    async with asyncio.timeout(TIMEOUT_S):
        return await reader.read()


async def read_answer(reader: asyncio.StreamReader) -> bytes:
    """Read a response; the connection stays open."""
    async with asyncio.timeout(TIMEOUT_S):
        return await reader.readuntil(b" bytes")


async def test_incomplete_headers_end_the_connection() -> None:
    async with serving(SHORT) as dialer:
        slow = [await dialer.send(b"GET / HTTP/1.1\r\nHost: a\r\nX: ") for _ in range(20)]
        silent = await dialer.send(b"")
        for reader, _ in slow:
            answer = await read_all(reader)
            assert answer.startswith(b"HTTP/1.1 408 Request Timeout\r\n")
            assert b'"error": "request_timeout"' in answer
        assert await read_all(silent[0]) == b""


async def test_a_connection_whose_state_is_broken_does_not_keep_late_ones_open() -> None:
    async with serving(SHORT, has_broken=True) as dialer:
        with capture_logs() as lines:
            reader, _ = await dialer.send(b"GET / HTTP/1.1\r\nHost: a\r\nX: ")
            assert (await read_all(reader)).startswith(b"HTTP/1.1 408 Request Timeout\r\n")
        assert "connection.look_failed" in {line["event"] for line in lines}


async def test_incomplete_headers_end_a_reused_connection() -> None:
    for attempt in increasing_limits(AssertionError):
        with attempt as limit_s:
            async with serving(replace(LIMITS, head_timeout_s=limit_s)) as dialer:
                reader, writer = await dialer.send(GET)
                assert (await read_answer(reader)).endswith(b"0 bytes")
                writer.write(b"GET / HT")
                assert (await read_all(reader)).startswith(b"HTTP/1.1 408 ")


async def test_a_stalled_body_ends_the_connection() -> None:
    async with serving(replace(LIMITS, body_timeout_s=0.5)) as dialer:
        reader, _ = await dialer.send(POST + b"x" * 10)
        answer = await read_all(reader)
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b"the body brought less than 1024 bytes in 0.5 s" in answer


async def test_an_unread_body_ends_the_connection() -> None:
    early = POST.replace(b"POST /", b"POST /early").replace(b"5000", b"50000000")
    for attempt in increasing_limits(AssertionError):
        with attempt as limit_s:
            limits = replace(LIMITS, head_timeout_s=limit_s, body_timeout_s=limit_s)
            async with serving(limits) as dialer:
                reader, _ = await dialer.send(early + b"x" * 10)
                assert (await read_all(reader)).endswith(b"0 bytes")


async def test_connections_over_the_limits_are_refused() -> None:
    async with serving(replace(LIMITS, connections_per_address=2)) as dialer:
        first, second = await dialer.send(GET), await dialer.send(GET)
        await read_answer(first[0])
        await read_answer(second[0])
        refused = await read_all((await dialer.send(GET))[0])
        assert refused.startswith(b"HTTP/1.1 429 Too Many Requests\r\n")
        assert b"Retry-After: 5\r\n" in refused
        first[1].close()
        await first[1].wait_closed()
        async with asyncio.timeout(TIMEOUT_S):
            while not (await (await dialer.send(GET))[0].read(12)).endswith(b"200"):
                pass
    proxied = replace(LIMITS, connections_per_address=1, proxies=frozenset({"127.0.0.0/8"}))
    async with serving(proxied) as dialer:
        for _ in range(3):
            await read_answer((await dialer.send(GET))[0])
    async with serving(replace(LIMITS, connections=1)) as dialer:
        await read_answer((await dialer.send(GET))[0])
        refused = await read_all((await dialer.send(GET))[0])
        assert refused.startswith(b"HTTP/1.1 503 Service Unavailable\r\n")


async def test_heads_and_trailers_have_a_limit() -> None:
    head, long = b"GET / HTTP/1.1\r\nHost: a\r\n", b"x" * (MAX_HEAD_BYTES // 2)
    chunked = b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n"
    async with serving(LIMITS) as dialer:
        fits = await dialer.send(head + b"A: " + long + b"\r\n\r\n")
        assert (await read_answer(fits[0])).startswith(b"HTTP/1.1 200 ")
        for begin in (
            head + b"A: " + long + b"\r\nB: " + long + b"\r\n\r\n",
            head + b"A: " + 5 * long,
            b"GET /" + 5 * long,
            chunked + b"A: " + 50 * long,
        ):
            reader, writer = await dialer.send(begin[: MAX_HEAD_BYTES - 1])
            writer.write(begin[MAX_HEAD_BYTES - 1 :])
            # It is reset while more bytes arrive than were read.
            with suppress(ConnectionResetError):
                assert (await read_all(reader)).startswith(b"HTTP/1.1 400 "), begin[:70]


async def test_a_request_names_one_host() -> None:
    async with serving(LIMITS) as dialer:
        for head in (b"GET / HTTP/1.1\r\n\r\n", GET.replace(b"Host: a", b"Host: a\r\nHost: b")):
            assert (await read_all((await dialer.send(head))[0])).startswith(b"HTTP/1.1 400 ")
        old = await dialer.send(b"GET / HTTP/1.0\r\n\r\n")
        assert (await read_all(old[0])).startswith(b"HTTP/1.1 200 ")


async def test_pipelined_requests_are_answered_within_limits() -> None:
    async with serving(LIMITS) as dialer:
        reader, _ = await dialer.send(3 * GET + POST + b"x" * 5000 + GET)
        answers = [await read_answer(reader) for _ in range(5)]
        sizes = [int(answer.split()[-2]) for answer in answers]
        assert sizes == [0, 0, 0, 5000, 0]
        many = await dialer.send((MAX_PIPELINED + 10) * GET)
        assert b"HTTP/1.1 400 " in await read_all(many[0])
        events, writer = await dialer.send(GET.replace(b"/ ", b"/events ", 1) + GET)
        async with asyncio.timeout(TIMEOUT_S):
            await events.readuntil(b"begun")
            writer.close()
            await ENDED.wait()


async def test_an_upgrade_that_is_not_offered_is_ignored() -> None:
    wish = b"Host: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
    async with serving(LIMITS) as dialer:
        reader, writer = await dialer.send(POST.replace(b"Host: a\r\n", wish) + b"x" * 5000)
        assert (await read_answer(reader)).endswith(b"5000 bytes")
        writer.write(GET)
        assert (await read_answer(reader)).endswith(b"0 bytes")


def test_a_slow_body_is_accepted_while_bytes_arrive() -> None:
    limits, request = replace(LIMITS, body_timeout_s=30), object()
    waiting = WaitingTime()
    for now in range(0, 3600, 10):
        waiting.received_bytes += MIN_BODY_BYTES // 3 + 1
        assert not waiting.is_over(Phase.BODY, request, limits=limits, now=now)
    waiting = WaitingTime()
    verdicts = []
    for now in range(0, 60, 10):
        waiting.received_bytes += 1
        verdicts.append(waiting.is_over(Phase.BODY, request, limits=limits, now=now))
    assert verdicts == [False, False, False, False, True, True]


def test_each_request_has_its_own_timeout() -> None:
    limits = replace(LIMITS, head_timeout_s=10)
    waiting = WaitingTime()
    for now in range(0, 1000, 7):
        assert not waiting.is_over(Phase.HEAD, object(), limits=limits, now=now)
    assert not waiting.is_over(Phase.NOTHING, None, limits=limits, now=5000)
    assert not waiting.is_over(Phase.NOTHING, None, limits=limits, now=9000)


def test_a_long_unread_rest_of_a_body_ends_the_connection() -> None:
    waiting = WaitingTime()
    assert not waiting.is_over(Phase.UNREAD_BODY, None, limits=LIMITS, now=0)
    waiting.received_bytes += MAX_UNREAD_BYTES
    assert not waiting.is_over(Phase.UNREAD_BODY, None, limits=LIMITS, now=1)
    waiting.received_bytes += 1
    assert waiting.is_over(Phase.UNREAD_BODY, None, limits=LIMITS, now=2)
