"""Headers, addresses and tokens of requests."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from hypothesis import strategies as st
from starlette.datastructures import Headers

from framekiln.api.auth import is_token
from framekiln.api.logs import accept_request_id
from framekiln.api.origins import is_own_host, is_own_url, page_origin
from framekiln.api.ranges import (
    ByteSpan,
    Validators,
    content_disposition,
    is_same_version,
    is_unchanged,
    parse_range,
)
from framekiln.api.sessions import read_credentials
from framekiln.api.v1.stream_bodies import sha256_of
from framekiln.api.v1.uploads import chunk_of
from framekiln.identity.errors import TokenScopeMismatch
from framekiln.identity.keys import parse_key
from framekiln.identity.signatures.keys import ConfiguredSigningKeys, SigningKey
from framekiln.identity.signatures.scope import RequestTarget, read_scope, split_path
from framekiln.identity.signatures.tokens import AccessTokens
from framekiln.kit.ids import OrganizationId
from framekiln.links.model import LinkId, LinkTarget
from framekiln.links.tokens import read_token, write_token
from framekiln.playback.addresses import check_web_address, file_id_in, render_id_in
from framekiln.playback.segment_names import parse_segment_name
from framekiln.settings import Settings
from tests.fuzz.mutations import changed_bytes, changed_text
from tests.fuzz.targets import FuzzTarget, run_async

SIZE_BYTES = 1000
VALIDATORS = Validators('"abc"', datetime(2030, 1, 1, tzinfo=UTC))
SETTINGS = Settings(base_url="https://kiln.example")
NUMBERS = (
    "0",
    "1",
    "999",
    "1000",
    "9" * 19,
    "9" * 400,
    "-",
    "bytes",
    "=",
    "/",
    "*",
    ",",
    " ",
    "\t",
)
DATES = (
    "Tue, 01 Jan 2030 00:00:00 GMT",
    "Tue, 01 Jan 2030 00:00:00 +9999",
    "1 Jan 99999999999999999999 00:00:00 GMT",
    "Tue, 01 Jan 2030 99:99:99 -0000",
)
FILE = "/api/v1/files/6f1c3c0e-8a57-4f0a-9a53-0d5f6c3a8f10"
URLS = (
    FILE,
    f"https://kiln.example{FILE}/index?a=1&a=2#x",
    "https://kiln.example/api/v1/transcode?url=https%3A%2F%2Fa.example%2Fb",
    "file-id:6f1c3c0e-8a57-4f0a-9a53-0d5f6c3a8f10",
    "/v2/videos/abc/hls/main.m3u8",
    "https://[::1]:80/x",
)
URL_WORDS = (
    "..",
    "/",
    "//",
    "\\",
    "%2e%2e",
    "%2f",
    "%00",
    "@",
    ":",
    "?",
    "#",
    "&",
    "=",
    "[",
    "]",
    "%ff",
)


class _FixedClock:
    def now(self) -> datetime:
        return datetime(2030, 1, 1, tzinfo=UTC)


ORGANIZATION = OrganizationId(UUID(int=1))
TOKENS = AccessTokens(ConfiguredSigningKeys(["k" * 32]), _FixedClock())
SIGNED = run_async(TOKENS.sign_url(ORGANIZATION, URLS[0]))
MEDIA = run_async(
    TOKENS.sign_media(ORGANIZATION, URLS[0], _FixedClock().now() + timedelta(hours=1))
)
LINK = write_token(LinkId(UUID(int=2)), _FixedClock().now(), SigningKey("12" * 8, b"k" * 32))
OTHER_KEY = SigningKey("12" * 8, b"o" * 32)


def check_range(header: str) -> None:
    """A range lies inside the content."""
    span = parse_range(header, SIZE_BYTES)
    if isinstance(span, ByteSpan):
        assert 0 <= span.start < span.end <= SIZE_BYTES


def check_conditions(text: str) -> None:
    """Dates and tags are compared, whatever they are."""
    is_same_version(text, VALIDATORS)
    is_unchanged({"if-none-match": text}, VALIDATORS)
    is_unchanged({"if-modified-since": text}, VALIDATORS)


def check_chunk(headers: tuple[str, str]) -> None:
    """A chunk lies inside its upload and is not empty unless it says so."""
    chunk = chunk_of(*headers)
    end = chunk.check(byte_size=SIZE_BYTES, next_byte=SIZE_BYTES // 2)
    assert 0 <= chunk.start <= end <= SIZE_BYTES


def check_file_name(name: str) -> None:
    """A file name cannot end its header."""
    header = content_disposition(name)
    assert header.isascii()
    assert header.isprintable()
    assert header.count('"') == 2


def check_page(header: str) -> None:
    """Origins and hosts are compared; what is not ours is not taken for ours."""
    raw = header.encode("latin-1", "replace")
    headers = Headers(raw=[(b"origin", raw), (b"host", raw)])
    page_origin(Headers(raw=[(b"referer", raw)]))
    is_own_url(header, headers, SETTINGS)
    if is_own_host(header, SETTINGS):
        assert not set("/@?#\\ \t\r\n") & set(header)


def check_address(url: str) -> None:
    """Addresses of sources are read or refused."""
    file_id_in(url)
    render_id_in(url)
    parse_segment_name("high", url, "m4s")
    check_web_address(url)


def check_scope(url: str) -> None:
    """A signed address covers itself and nothing else."""
    scope = read_scope(url)
    assert split_path("/" + "/".join(scope.segments)) == scope.segments
    assert read_scope(scope.path).segments == scope.segments
    query = [(name, value) for name, values in scope.params.items() for value in values]
    path = "/" + "/".join(scope.segments)
    token = run_async(TOKENS.sign_url(ORGANIZATION, url))
    assert run_async(TOKENS.read_url(token, RequestTarget(path, query))) == ORGANIZATION
    for other in ("/healthz", "/api/v1/files/other", path + "x"):
        try:
            run_async(TOKENS.read_url(token, RequestTarget(other, query)))
        except TokenScopeMismatch:
            continue
        raise AssertionError(f"{url!r} covers {other!r}")


def check_token(text: str) -> None:
    """Only what we signed is accepted, and only as what it is."""
    is_token(text)
    for read, genuine in ((TOKENS.read_url, SIGNED), (TOKENS.read_media, MEDIA)):
        try:
            run_async(read(text, RequestTarget(URLS[0])))
        except Exception as error:
            if type(error).__module__ != "framekiln.identity.errors":
                raise
        else:
            # The last character of base64 may have unused bits.
            assert text[:-1] == genuine[:-1]


def check_words(text: str) -> None:
    """Keys, request ids and digests are read or refused."""
    parse_key(text)
    assert accept_request_id(text).isascii()
    assert len(sha256_of(text)) == 32


def check_login(body: bytes) -> None:
    """A login has an address and a password, or is refused."""
    email, password = read_credentials(body)
    assert email
    assert password


def check_link(text: str) -> None:
    """A link opens nothing outside its target and the folder of its stream."""
    token = read_token(text)
    assert token is None or not token.is_signed_with(OTHER_KEY)
    file = LinkTarget(("api", "v1", "files", "1", "track"), {})
    assert file.find_path(text) in (None, "/api/v1/files/1/track")
    stream = LinkTarget(("api", "v1", "files", "1", "hls", "playlist.m3u8"), {})
    found = stream.find_path(text)
    assert found is None or found.startswith("/api/v1/files/1/hls/")
    assert found is None or ".." not in found.split("/")


def _texts(*seeds: str, words: tuple[str, ...] = NUMBERS) -> Any:
    return changed_text(seeds, words)


TARGETS = (
    FuzzTarget("range", _texts("bytes=0-499", "bytes=-5", "bytes=1-,2-3"), check_range),
    FuzzTarget("conditions", _texts(*DATES, 'W/"abc"', '"a", "b"'), check_conditions),
    FuzzTarget(
        "chunk",
        st.tuples(_texts("bytes 0-499/1000", "bytes */1000", "bytes 5-9/*"), _texts("10", "")),
        check_chunk,
    ),
    FuzzTarget(
        "file_name", _texts("a.mp4", 'a"b\r\nX: y', words=('"', "\r\n", "'")), check_file_name
    ),
    FuzzTarget("page", _texts("kiln.example", *URLS, words=URL_WORDS), check_page),
    FuzzTarget("address", _texts(*URLS, "12", words=URL_WORDS), check_address),
    FuzzTarget("scope", _texts(*URLS, words=URL_WORDS), check_scope),
    FuzzTarget("token", _texts(SIGNED, MEDIA, words=(".", "e30", "==", "eyJ")), check_token),
    FuzzTarget("link", _texts(LINK, "track", "a/1.m4s", words=("../", "%2e", "/")), check_link),
    FuzzTarget("words", _texts("ef_a_b", "sha-256=:AAAA:", words=(":", ",", "=")), check_words),
    FuzzTarget(
        "login",
        changed_bytes([b'{"email": "a@b", "password": "x"}', b"email=a%40b&password=x"]),
        check_login,
    ),
)
