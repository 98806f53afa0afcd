"""Which origins are ours."""

import pytest
from starlette.datastructures import Headers

from framekiln.api.origins import is_own_host, is_own_origin, is_own_url, page_origin
from framekiln.settings import Settings

PLAIN = Settings(base_url="http://kiln.example:8080")
HOSTS = Settings(base_url="http://kiln.example:8080", allowed_hosts="Tunnel.example,")
SECURE = Settings(base_url="https://kiln.example", allowed_origins="https://App.example/,")


def host(name: str) -> Headers:
    return Headers({"host": name})


@pytest.mark.parametrize(
    ("origin", "sent_to", "settings", "is_ours"),
    [
        ("http://kiln.example:8080", "inside:1", PLAIN, True),
        ("http://kiln.example", "inside:1", PLAIN, False),
        ("https://kiln.example:8080", "inside:1", PLAIN, False),
        ("http://localhost:8080", "localhost:8080", PLAIN, True),
        ("https://tunnel.example", "Tunnel.example", HOSTS, True),
        ("https://evil.example", "evil.example", PLAIN, False),
        ("http://192.168.1.2:8080", "192.168.1.2:8080", PLAIN, True),
        ("http://box.localhost:8080", "box.localhost:8080", PLAIN, True),
        ("http://localhost.evil.example", "localhost.evil.example", PLAIN, False),
        ("http://127.0.0.1.evil.example", "127.0.0.1.evil.example", PLAIN, False),
        ("http://localhost:8081", "localhost:8080", PLAIN, False),
        ("http://[::1]:8080", "[::1]:8080", PLAIN, True),
        ("ftp://localhost:8080", "localhost:8080", PLAIN, False),
        ("null", "null", PLAIN, False),
        ("", "", PLAIN, False),
        ("http://", "", PLAIN, False),
        ("http://kiln.example:8080.evil.example", "kiln.example:8080", PLAIN, False),
        ("https://kiln.example", "inside", SECURE, True),
        ("http://kiln.example", "kiln.example", SECURE, False),
        ("https://app.example", "kiln.example", SECURE, True),
        ("https://other.example", "kiln.example", SECURE, False),
    ],
)
def test_own_origins(origin: str, sent_to: str, settings: Settings, is_ours: bool) -> None:
    assert is_own_origin(origin, host(sent_to), settings) is is_ours


@pytest.mark.parametrize(
    ("sent_to", "is_ours"),
    [
        ("kiln.example", True),
        ("kiln.example:9", True),
        ("tunnel.example", True),
        ("localhost", True),
        ("127.0.0.1:8080", True),
        ("[::1]:8080", True),
        ("[fe80::1]", True),
        ("evil.example", False),
        ("sub.kiln.example", False),
        ("kiln.example.evil.example", False),
        ("evil.example@kiln.example", False),
        ("kiln.example@evil.example", False),
        ("kiln.example/evil.example", False),
        ("[kiln.example]", False),
        ("", False),
    ],
)
def test_own_hosts(sent_to: str, is_ours: bool) -> None:
    assert is_own_host(sent_to, HOSTS) is is_ours


def test_page_origin_prefers_the_origin_header() -> None:
    assert page_origin(Headers({})) is None
    assert page_origin(Headers({"origin": "HTTPS://A.example"})) == "https://a.example"
    assert page_origin(Headers({"referer": "https://a.example:443/x?y"})) == "https://a.example"
    assert page_origin(Headers({"referer": "about:blank"})) == "null"
    # What the browser says of the origin counts, whatever the referer says.
    both = Headers({"origin": "null", "referer": "https://a.example/"})
    assert page_origin(both) == "null"


@pytest.mark.parametrize(
    ("url", "is_ours"),
    [
        ("/api/v1/files", True),
        ("https://kiln.example/api/v1/files", True),
        ("HTTPS://KILN.example:443/api/v1/files", True),
        ("//evil.example/api/v1/files", False),
        ("https://evil.example/api/v1/files", False),
        ("https://kiln.example@evil.example/api/v1/files", False),
        ("https://kiln.example:bad/", False),
    ],
)
def test_own_urls_are_recognized(url: str, is_ours: bool) -> None:
    assert is_own_url(url, host("kiln.example"), SECURE) is is_ours


@pytest.mark.parametrize(
    "given",
    [
        {"allowed_origins": "kiln.example"},
        {"allowed_origins": "*"},
        {"allowed_origins": "https://*.example"},
        {"allowed_origins": "https://kiln.example/path"},
        {"allowed_hosts": "kiln.example:80"},
        {"allowed_hosts": "*.example"},
        {"trusted_proxies": "*"},
        {"trusted_proxies": "proxy.example"},
        {"metrics_token": "short"},
        {"secret_keys": "short"},
        {"secret_keys": f"{'a' * 32},short"},
    ],
)
def test_useless_settings_are_refused(given: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=r"origin|secret|host|network|token"):
        Settings.model_validate(given)


def test_secrets_are_split_and_not_shown() -> None:
    settings = Settings.model_validate({"secret_keys": f" {'a' * 32} , {'b' * 32},"})
    assert settings.secret_keys == ("a" * 32, "b" * 32)
    assert "aaaa" not in repr(settings)
