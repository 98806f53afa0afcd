"""The guarded fetcher against real servers on loopback.

Loopback is private, so a test that wants an answer puts its server on the allow list; a test that
wants a refusal does not.
"""

import asyncio
import ssl
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from framekiln.kit.errors import Blame
from framekiln.kit.fetch import (
    Fetched,
    FetchFailed,
    FetchFailedPermanently,
    FetchTooLarge,
    GuardedFetcher,
)
from framekiln.kit.guarded_transport import FetchRefused
from tests.support.receiver import NO_ANSWER, Answer, Receiver
from tests.support.timeouts import TIMEOUT_S, increasing_limits

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class FixedResolver:
    """A resolver with answers of its own; counts what it is asked."""

    def __init__(self, **answers: Sequence[str]) -> None:
        self._answers = {name.replace("_", "."): found for name, found in answers.items()}
        self.asked: list[str] = []

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        self.asked.append(host)
        if host not in self._answers:
            raise OSError(f"no such name: {host}")
        return self._answers[host]


@asynccontextmanager
async def serving(serve: Serve, context: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    """Run a server that speaks byte by byte; yield its port."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readuntil(b"\r\n\r\n")
            await serve(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # clients that hang up are part of the tests
        finally:
            writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0, ssl=context)
    async with server:
        yield server.sockets[0].getsockname()[1]


def allowing(receiver: Receiver) -> GuardedFetcher:
    return GuardedFetcher(frozenset({f"127.0.0.1:{receiver.port}"}))


async def get(
    fetcher: GuardedFetcher, url: str, *, max_bytes: int = 1 << 20, within_s: float = TIMEOUT_S
) -> tuple[Fetched, bytes]:
    body = bytearray()
    fetched = await fetcher.download(url, body.extend, max_bytes=max_bytes, within_s=within_s)
    return fetched, bytes(body)


class TestDownload:
    async def test_content_is_returned_with_its_type(self, receiver: Receiver) -> None:
        receiver.answer(Answer(body=b"x" * 700_000, headers={"Content-Type": "video/mp4"}))
        fetched, body = await get(allowing(receiver), receiver.url("/clip.mp4?a=1"))
        assert body == b"x" * 700_000
        assert fetched == Fetched(
            url=receiver.url("/clip.mp4?a=1"),
            content_type="video/mp4",
            size_bytes=700_000,
            status=200,
        )

    async def test_uncompressed_content_is_requested(self, receiver: Receiver) -> None:
        await get(allowing(receiver), receiver.url())
        assert receiver.requests[0].headers["accept-encoding"] == "identity"

    async def test_a_file_appears_whole(self, receiver: Receiver, tmp_path: Path) -> None:
        receiver.answer(Answer(body=b"film"))
        await allowing(receiver).download(
            receiver.url(), tmp_path / "film", max_bytes=4, within_s=TIMEOUT_S
        )
        assert contents_of(tmp_path) == {"film": b"film"}

    async def test_a_failed_download_leaves_no_file(
        self, receiver: Receiver, tmp_path: Path
    ) -> None:
        receiver.answer(Answer(body=b"film"))
        with pytest.raises(FetchTooLarge):
            await allowing(receiver).download(
                receiver.url(), tmp_path / "film", max_bytes=3, within_s=TIMEOUT_S
            )
        assert contents_of(tmp_path) == {}

    async def test_the_environment_names_no_proxy(
        self, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, "http://127.0.0.1:9")
        receiver.answer(Answer(body=b"direct"))
        assert (await get(allowing(receiver), receiver.url()))[1] == b"direct"

    async def test_compressed_content_is_refused(self, receiver: Receiver) -> None:
        receiver.answer(Answer(body=b"\x1f\x8b", headers={"Content-Encoding": "gzip"}))
        with pytest.raises(FetchFailedPermanently, match="gzip"):
            await get(allowing(receiver), receiver.url())


class TestAddresses:
    @pytest.mark.parametrize(
        "host",
        [
            "127.0.0.1",
            "127.1",
            "0x7f000001",
            "2130706433",
            "0",
            "[::1]",
            "[::ffff:7f00:1]",
            "[::ffff:127.0.0.1]",
            "[64:ff9b::7f00:1]",
            "localhost",
            "LOCALHOST",
            "169.254.169.254",
            "10.0.0.1",
        ],
    )
    async def test_private_addresses_are_refused_however_they_are_spelled(self, host: str) -> None:
        with pytest.raises(FetchRefused, match="not a public host") as caught:
            await get(GuardedFetcher(), f"https://{host}/")
        assert caught.value.details["rule"] == "address"
        assert ":443 to FRAMEKILN_FETCH_ALLOW" in caught.value.message
        assert caught.value.details["host"] == host.strip("[]").lower()

    async def test_one_private_address_among_public_ones_is_refused(self) -> None:
        names = FixedResolver(mixed_test=["93.184.216.34", "127.0.0.1"])
        with pytest.raises(FetchRefused, match=r"mixed\.test is not a public host") as caught:
            await get(GuardedFetcher(resolve=names), "https://mixed.test/")
        assert caught.value.details == {"rule": "address", "host": "mixed.test"}

    async def test_connects_to_the_address_that_was_checked(self, receiver: Receiver) -> None:
        # Nobody else knows this name, so only the checked answer can have led to the server.
        names = FixedResolver(media_test=["127.0.0.1"])
        allow = frozenset({f"media.test:{receiver.port}"})
        receiver.answer(Answer(body=b"here"))
        url = f"http://media.test:{receiver.port}/"
        assert (await get(GuardedFetcher(allow, resolve=names), url))[1] == b"here"
        assert names.asked == ["media.test"]
        assert receiver.requests[0].headers["host"] == f"media.test:{receiver.port}"

    async def test_tries_the_next_address_when_one_is_down(self, receiver: Receiver) -> None:
        names = FixedResolver(media_test=["127.0.0.2", "127.0.0.1"])
        fetcher = GuardedFetcher(frozenset({"media.test"}), resolve=names)
        receiver.answer(Answer(body=b"here"))
        assert (await get(fetcher, f"http://media.test:{receiver.port}/"))[1] == b"here"

    @pytest.mark.parametrize("answers", [{}, {"media_test": []}])
    async def test_a_name_without_an_address_is_retryable(
        self, answers: dict[str, Sequence[str]]
    ) -> None:
        with pytest.raises(FetchFailed, match=r"media\.test") as caught:
            await get(GuardedFetcher(resolve=FixedResolver(**answers)), "https://media.test/")
        assert caught.value.retryable


class TestRules:
    @pytest.mark.parametrize(
        ("url", "rule"),
        [
            ("http://example.com/", "scheme"),
            ("ftp://example.com/x", "scheme"),
            ("file:///etc/passwd", "scheme"),
            ("data:text/plain,x", "scheme"),
            ("//example.com/x", "scheme"),
            ("example.com/x", "scheme"),
            ("", "scheme"),
            ("https:///x", "scheme"),
            ("https://user:secret@example.com/", "credentials"),
            ("https://user@example.com/", "credentials"),
            ("https://example.com\\@evil.example/", "credentials"),
            ("https://example.com:22/", "port"),
            ("https://example.com:8443/", "port"),
            ("https://a..b/", "host"),
            ("https://example.com/\r\nHost: x", "request"),
            ("https://exa\x00mple.com/", "request"),
            ("https://[::1/", "request"),
            ("https://0177.0.0.1/", "request"),
        ],
    )
    async def test_each_rule_refuses_before_anything_is_sent(self, url: str, rule: str) -> None:
        with pytest.raises(FetchRefused) as caught:
            await get(GuardedFetcher(), url)
        assert caught.value.details["rule"] == rule
        assert (caught.value.code, caught.value.blame) == ("fetch_refused", Blame.CALLER)
        assert "secret" not in caught.value.message

    async def test_credentials_are_refused_even_for_allowed_hosts(self, receiver: Receiver) -> None:
        url = receiver.url().replace("//", "//user:secret@")
        with pytest.raises(FetchRefused, match="password"):
            await get(allowing(receiver), url)
        assert receiver.requests == []

    async def test_a_host_may_be_allowed_on_every_port(self, receiver: Receiver) -> None:
        receiver.answer(Answer(body=b"in"))
        fetcher = GuardedFetcher(frozenset({"127.0.0.1"}))
        assert (await get(fetcher, receiver.url()))[1] == b"in"

    async def test_an_allowed_port_allows_no_other(self, receiver: Receiver) -> None:
        with pytest.raises(FetchRefused):
            await get(GuardedFetcher(frozenset({"127.0.0.1:1"})), receiver.url())
        assert receiver.requests == []

    async def test_an_allowed_name_does_not_allow_its_address(self, receiver: Receiver) -> None:
        with pytest.raises(FetchRefused):
            await get(GuardedFetcher(frozenset({"localhost"})), receiver.url())
        assert receiver.requests == []


class TestRedirects:
    async def test_are_followed_to_the_content(self, receiver: Receiver) -> None:
        receiver.answer_next(
            Answer(302, headers={"Location": "/second"}),
            Answer(307, headers={"Location": receiver.url("/third")}),
            Answer(body=b"found"),
        )
        fetched, body = await get(allowing(receiver), receiver.url("/first"))
        assert (fetched.url, body) == (receiver.url("/third"), b"found")
        assert [request.path for request in receiver.requests] == ["/first", "/second", "/third"]

    @pytest.mark.parametrize(
        ("location", "rule"),
        [
            ("https://127.0.0.2/secret", "address"),
            ("https://169.254.169.254/latest/meta-data/", "address"),
            ("https://mixed.test/", "address"),
            ("http://127.0.0.2/secret", "scheme"),
            ("file:///etc/passwd", "scheme"),
            ("https://user:secret@example.com/", "credentials"),
            ("//127.0.0.2:22/", "scheme"),
        ],
    )
    async def test_are_checked_like_a_first_request(
        self, receiver: Receiver, location: str, rule: str
    ) -> None:
        receiver.answer(Answer(302, headers={"Location": location}))
        answers = {
            "start_test": ["127.0.0.1"],
            "mixed_test": ["93.184.216.34", "10.0.0.1"],
            "127_0_0_2": ["127.0.0.2"],
            "169_254_169_254": ["169.254.169.254"],
        }
        allow = frozenset({f"start.test:{receiver.port}"})
        fetcher = GuardedFetcher(allow, resolve=FixedResolver(**answers))
        with pytest.raises(FetchRefused) as caught:
            await get(fetcher, f"http://start.test:{receiver.port}/")
        assert caught.value.details["rule"] == rule
        assert len(receiver.requests) == 1

    async def test_are_limited(self, receiver: Receiver) -> None:
        receiver.answer(Answer(302, headers={"Location": "/again"}))
        with pytest.raises(FetchRefused, match="more than 3 redirects"):
            await get(allowing(receiver), receiver.url())
        assert len(receiver.requests) == 4


class TestSizeAndTimeLimits:
    async def test_a_declared_size_over_the_limit_is_not_read(self, receiver: Receiver) -> None:
        receiver.answer(Answer(body=b"x" * 11))
        with pytest.raises(FetchTooLarge, match="10 bytes") as caught:
            await get(allowing(receiver), receiver.url(), max_bytes=10)
        assert caught.value.code == "fetch_too_large"
        assert caught.value.details["max_bytes"] == 10

    async def test_content_at_the_limit_is_accepted(self, receiver: Receiver) -> None:
        receiver.answer(Answer(body=b"x" * 10))
        assert (await get(allowing(receiver), receiver.url(), max_bytes=10))[0].size_bytes == 10

    async def test_an_endless_response_is_stopped_at_the_limit(self) -> None:
        async def send_endlessly(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
            while True:
                writer.write(b"x" * 65536)
                await writer.drain()

        taken = bytearray()
        async with serving(send_endlessly) as port:
            with pytest.raises(FetchTooLarge):
                await GuardedFetcher(frozenset({"127.0.0.1"})).download(
                    f"http://127.0.0.1:{port}/",
                    taken.extend,
                    max_bytes=1_000_000,
                    within_s=TIMEOUT_S,
                )
        assert len(taken) <= 1_000_000

    async def test_a_slow_response_times_out(self) -> None:
        async def send_slowly(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
            while True:
                writer.write(b"x")
                await writer.drain()
                await asyncio.sleep(0.02)

        async with serving(send_slowly) as port:
            fetcher = GuardedFetcher(frozenset({"127.0.0.1"}))
            for attempt in increasing_limits(AssertionError):
                with (
                    attempt as limit_s,
                    pytest.raises(FetchFailed, match=r"within \d+ s") as caught,
                ):
                    await get(fetcher, f"http://127.0.0.1:{port}/", within_s=limit_s)
        assert caught.value.retryable

    async def test_a_silent_server_times_out(self, receiver: Receiver) -> None:
        receiver.answer(NO_ANSWER)
        with pytest.raises(FetchFailed) as caught:
            await get(allowing(receiver), receiver.url(), within_s=0.3)
        assert caught.value.retryable

    async def test_a_silent_server_is_given_up_before_a_slow_one(
        self, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("framekiln.kit.fetch._STALL_S", 0.3)
        receiver.answer(NO_ANSWER)
        with pytest.raises(FetchFailed, match="stopped responding"):
            await get(allowing(receiver), receiver.url())


class TestFailures:
    @pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503])
    async def test_temporary_statuses_are_retryable(self, receiver: Receiver, status: int) -> None:
        receiver.answer(Answer(status, body=b"trouble"))
        with pytest.raises(FetchFailed, match=str(status)) as caught:
            await get(allowing(receiver), receiver.url())
        assert caught.value.retryable
        assert caught.value.details == {"host": "127.0.0.1", "status": status}
        assert (caught.value.code, caught.value.blame) == ("fetch_failed", Blame.REMOTE)

    @pytest.mark.parametrize("status", [304, 400, 401, 403, 404, 410])
    async def test_permanent_statuses_are_not_retryable(
        self, receiver: Receiver, status: int
    ) -> None:
        receiver.answer(Answer(status))
        with pytest.raises(FetchFailedPermanently, match=str(status)) as caught:
            await get(allowing(receiver), receiver.url())
        assert not caught.value.retryable
        assert caught.value.code == "fetch_failed"
        assert caught.value.details["status"] == status

    async def test_a_dropped_connection_is_retryable(self, receiver: Receiver) -> None:
        receiver.answer(Answer(drop=True))
        with pytest.raises(FetchFailed, match="connection failed") as caught:
            await get(allowing(receiver), receiver.url())
        assert caught.value.retryable

    async def test_a_closed_port_is_retryable(self) -> None:
        with Receiver() as closed:
            url = closed.url()
        with pytest.raises(FetchFailed, match="connection failed") as caught:
            await get(GuardedFetcher(frozenset({"127.0.0.1"})), url)
        assert caught.value.retryable

    async def test_truncated_content_is_an_error(self) -> None:
        async def stop_early(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
            await writer.drain()

        async with serving(stop_early) as port:
            fetcher = GuardedFetcher(frozenset({"127.0.0.1"}))
            with pytest.raises(FetchFailed):
                await get(fetcher, f"http://127.0.0.1:{port}/")


class TestRequest:
    async def test_sends_and_returns_whatever_the_status(self, receiver: Receiver) -> None:
        receiver.answer(Answer(418, body=b"teapot", headers={"X-Kind": "Short"}))
        response = await allowing(receiver).request(
            "POST",
            receiver.url("/hook"),
            headers={"webhook-id": "1", "content-type": "application/json"},
            content=b"{}",
            within_s=TIMEOUT_S,
            max_response_bytes=100,
        )
        assert (response.status, response.content) == (418, b"teapot")
        assert response.headers["x-kind"] == "Short"
        sent = receiver.requests[0]
        assert (sent.method, sent.path, sent.body) == ("POST", "/hook", b"{}")
        assert sent.headers["webhook-id"] == "1"

    async def test_redirects_are_returned_and_not_followed(self, receiver: Receiver) -> None:
        receiver.answer(Answer(302, headers={"Location": "https://127.0.0.2/"}))
        response = await self.post(allowing(receiver), receiver.url())
        assert response == 302
        assert len(receiver.requests) == 1

    async def test_obeys_the_same_rules(self, receiver: Receiver) -> None:
        with pytest.raises(FetchRefused):
            await self.post(GuardedFetcher(), receiver.url())
        with pytest.raises(FetchRefused, match="not a public host"):
            await self.post(GuardedFetcher(), "https://127.1/")
        assert receiver.requests == []

    async def test_limits_the_size_of_the_response(self, receiver: Receiver) -> None:
        receiver.answer(Answer(body=b"x" * 101))
        with pytest.raises(FetchTooLarge):
            await self.post(allowing(receiver), receiver.url())

    @pytest.mark.parametrize(
        ("name", "value", "rule"),
        [
            ("Host", "internal", "headers"),
            ("transfer-encoding", "chunked", "headers"),
            ("Content-Length", "5", "headers"),
            ("x-note", "a\r\nHost: internal", "request"),
        ],
    )
    async def test_headers_cannot_change_the_request(
        self, receiver: Receiver, name: str, value: str, rule: str
    ) -> None:
        with pytest.raises(FetchRefused) as caught:
            await self.post(allowing(receiver), receiver.url(), headers={name: value})
        assert caught.value.details["rule"] == rule
        assert receiver.requests == []

    async def post(
        self, fetcher: GuardedFetcher, url: str, *, headers: dict[str, str] | None = None
    ) -> int:
        response = await fetcher.request(
            "POST",
            url,
            headers=headers or {},
            content=b"{}",
            within_s=TIMEOUT_S,
            max_response_bytes=100,
        )
        return response.status


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for media.test and its key, in one file that is made for this run."""
    folder = tmp_path_factory.mktemp("tls")
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2"
    names = ["-subj", "/CN=media.test", "-addext", "subjectAltName=DNS:media.test"]
    files = ["-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem")]
    subprocess.run([*command.split(), *names, *files], check=True, capture_output=True)
    return folder / "cert.pem"


@pytest.fixture
async def tls_port(certificate: Path) -> AsyncIterator[int]:
    async def greet(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
        await writer.drain()

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, certificate.with_name("key.pem"))
    async with serving(greet, context) as port:
        yield port


class TestTls:
    async def test_the_name_is_verified_not_the_address(
        self, certificate: Path, tls_port: int
    ) -> None:
        fetcher = self.fetcher(certificate)
        assert (await get(fetcher, f"https://media.test:{tls_port}/"))[1] == b"hello"

    async def test_a_certificate_for_another_name_is_not_accepted(
        self, certificate: Path, tls_port: int
    ) -> None:
        with pytest.raises(FetchFailed, match=r"(?i)certificate"):
            await get(self.fetcher(certificate), f"https://other.test:{tls_port}/")

    async def test_an_unknown_authority_is_not_accepted(self, tls_port: int) -> None:
        with pytest.raises(FetchFailed, match=r"(?i)certificate"):
            await get(self.fetcher(None), f"https://media.test:{tls_port}/")

    def fetcher(self, ca_file: Path | None) -> GuardedFetcher:
        names = FixedResolver(media_test=["127.0.0.1"], other_test=["127.0.0.1"])
        allow = frozenset({"media.test", "other.test"})
        return GuardedFetcher(allow, ca_file=ca_file, resolve=names)


def contents_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}
