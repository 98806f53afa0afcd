"""What a token covers, and the tricks it must not fall for."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from framekiln.identity.errors import UnsignableUrl
from framekiln.identity.signatures.scope import (
    MAX_PARAMS,
    MAX_URL_CHARS,
    RequestTarget,
    Scope,
    read_scope,
)

FILE = "/api/v1/files/1"
SOURCE = "https://cdn.example/a b/film.mp4?x=1&y=%2F"
ENCODED = "https%3A%2F%2Fcdn.example%2Fa%20b%2Ffilm.mp4%3Fx%3D1%26y%3D%252F"
TRANSCODE = "https://kiln.example/api/v1/transcode"


def covers(url: str, path: str, query: list[tuple[str, str]] | None = None) -> bool:
    return read_scope(url).mismatch(RequestTarget(path, query or [])) is None


def test_both_forms_of_a_source_are_equal() -> None:
    folded = read_scope(f"{TRANSCODE}?url={ENCODED}")
    assert folded == read_scope(TRANSCODE, {"url": SOURCE})
    assert folded == read_scope(f"{TRANSCODE}?url=replaced", {"url": SOURCE})
    assert folded == read_scope(f"/api/v1/transcode/?url={ENCODED}#part")


def test_one_token_covers_manifest_and_segments_of_its_source_only() -> None:
    scope = read_scope(TRANSCODE, {"url": SOURCE})
    for path in ("manifest.json", "manifest.m3u8", "high/init.m4s", "audio/17.m4s"):
        asked = f"/api/v1/transcode/{path}"
        assert scope.mismatch(RequestTarget(asked, [("url", SOURCE), ("other", "1")])) is None
        for query in (
            [],
            [("url", SOURCE + "x")],
            [("url", SOURCE), ("url", "other")],
            [("url", "other"), ("url", SOURCE)],
            [("URL", SOURCE)],
        ):
            assert "`url`" in str(scope.mismatch(RequestTarget(asked, query)))


@pytest.mark.parametrize(
    ("path", "is_covered"),
    [
        (FILE, True),
        (f"{FILE}/", True),
        (f"{FILE}/index", True),
        (f"{FILE}/tracks/1", True),
        ("/api/v1/files/10", False),
        ("/api/v1/files/1.mp4", False),
        ("/api/v1/files", False),
        ("/api/v1/Files/1", False),
        (f"{FILE}/../2", False),
        (f"{FILE}/./index", False),
        (f"{FILE}//index", False),
        (f"/{FILE}", False),
        (f"{FILE}/..\\2", False),
        (FILE[1:], False),
        ("", False),
        ("/", False),
    ],
)
def test_the_path_is_compared_by_segments(path: str, is_covered: bool) -> None:
    assert covers(f"https://anywhere.example{FILE}", path) is is_covered


def test_the_path_is_decoded_once() -> None:
    assert covers("/api/v1/files/a%20b", "/api/v1/files/a b")
    # What the router takes for `%2e%2e` is that very text, so it is an ordinary name.
    assert covers("/api/v1/files/%252e%252e", "/api/v1/files/%2e%2e")
    assert not covers("/api/v1/files/%252e%252e", "/api/v1/files/..")


@pytest.mark.parametrize("url", ["/", "/api", "/api/v1", "/api/v1/files", "/elsewhere/a/b/c"])
def test_a_short_path_opens_nothing_below_it(url: str) -> None:
    assert covers(f"https://evil.example{url}", url)
    for path in (FILE, f"{FILE}/index", f"{url}/a", f"{url}/a/b/c/d"):
        assert not covers(f"https://evil.example{url}", path)


@pytest.mark.parametrize(
    ("path", "is_covered"),
    [
        ("/api/v1/files", True),
        (FILE, True),
        (f"{FILE}/tracks/1", True),
        ("/api/v1/files2", False),
        ("/api/v1/files.mp4", False),
        ("/api/v1/renders/1.mp4", False),
        ("/api/v1", False),
        ("/api/v1/files/../renders/1.mp4", False),
        ("/api/v1/files/./1", False),
        ("/api/v1/files//1", False),
        ("/api/v1/files/..\\renders", False),
    ],
)
def test_a_wide_scope_covers_what_is_below_it_and_no_siblings(path: str, is_covered: bool) -> None:
    scope = replace(read_scope("/api/v1/files?v=1"), is_wide=True)
    assert (scope.mismatch(RequestTarget(path, [("v", "1")])) is None) is is_covered
    for query in ([], [("v", "2")], [("v", "1"), ("v", "1")], [("v", "1"), ("v", "2")]):
        assert scope.mismatch(RequestTarget(path, query)) is not None


def test_transcoding_without_a_source_opens_nothing_below_it() -> None:
    assert not covers(TRANSCODE, "/api/v1/transcode/manifest.json", [("url", SOURCE)])
    assert not covers(f"{TRANSCODE}/high", "/api/v1/transcode/high/1.m4s", [("url", SOURCE)])


@pytest.mark.parametrize(
    "url",
    [
        "",
        "files/1",
        "api/v1/files/1",
        "/api/v1/files/../renders/1",
        "/api/v1/files/%2e%2e/renders/1",
        "/api/v1/files/.%2E/1",
        "/api/v1//files/1",
        "/api/v1/files/1%2F%2Fx",
        "/api/v1/files\\1",
        "/api/v1/files/%5C1",
        "/api/v1/files/1\n",
        "/api/v1/files/ 1",
        "/api/v1/files/%ff",
        "/api/v1/files/1?x=%ff",
        "file:///api/v1/files/1",
        "javascript:/api/v1/files/1",
        "http://[::1/api/v1/files/1",
        "/" + "a" * MAX_URL_CHARS,
        "/api/v1/files/1?" + "&".join(f"a{n}=1" for n in range(MAX_PARAMS + 1)),
    ],
)
def test_ambiguous_urls_are_not_signed(url: str) -> None:
    with pytest.raises(UnsignableUrl):
        read_scope(url)


def test_too_many_or_too_long_parameters_are_not_signed() -> None:
    for params in ({str(n): "" for n in range(MAX_PARAMS + 1)}, {"url": "x" * MAX_URL_CHARS}):
        with pytest.raises(UnsignableUrl, match="params"):
            read_scope("/api/v1/transcode", params)


def test_upload_scopes_require_an_upload_path() -> None:
    one, collection = f"{FILE}/upload", "/api/v1/unprocessed_files"

    def uploads(signed: str, path: str) -> bool:
        return read_scope(signed).upload_mismatch(RequestTarget(path)) is None

    assert uploads(one, one)
    assert uploads(collection, collection)
    assert uploads(collection, f"{collection}/7/upload")
    for signed, path in (
        (FILE, one),
        (one, FILE),
        (one, "/api/v1/files/2/upload"),
        (one, f"{one}/upload"),
        (collection, f"{collection}/7/delete"),
        (collection, f"{collection}/7/../upload"),
        (collection, "/api/v1/files/7/upload"),
        ("/", one),
        ("/api/v1", one),
        ("/upload", "/upload"),
    ):
        assert not uploads(signed, path)


SEGMENT = st.text(min_size=1).filter(
    lambda text: text not in (".", "..") and not set(text) & {"/", "\\"} and text.isprintable()
)


@given(st.lists(SEGMENT, min_size=1))
def test_a_path_survives_being_written_into_a_token(segments: list[str]) -> None:
    assert read_scope(Scope(tuple(segments), {}).path).segments == tuple(segments)
