"""Addresses that may not be fetched are refused with the cause, and with what would allow them."""

import httpx
import pytest
from structlog.testing import capture_logs

from framekiln.kit.guarded_transport import FetchRefused, FetchRules, checked_addresses


@pytest.mark.parametrize(
    ("url", "cause", "allowed"),
    [
        ("http://127.0.0.1:9000/x", "127.0.0.1 is not a public host.", "127.0.0.1:9000"),
        ("http://[::1]/x", "::1 is not a public host.", "[::1]:80"),
        ("http://minio:9000/x", "minio is not a public host.", "minio:9000"),
        ("http://example.com/x", "example.com: use https instead of http.", "example.com:80"),
        ("https://example.com:8443/x", "port 8443 is not allowed", "example.com:8443"),
    ],
)
def test_a_refusal_names_its_cause_and_how_the_operator_allows_it(
    url: str, cause: str, allowed: str
) -> None:
    with pytest.raises(FetchRefused) as caught:
        FetchRules(frozenset()).check(httpx.URL(url))
    assert cause in caught.value.message
    assert f"the operator adds {allowed} to FRAMEKILN_FETCH_ALLOW" in caught.value.message
    FetchRules(frozenset({allowed})).check(httpx.URL(url))


async def test_a_refusal_names_the_private_address_only_in_the_log() -> None:
    async def resolve(host: str, port: int) -> list[str]:
        return ["93.184.216.34", "10.11.12.13"]

    rules, url = FetchRules(frozenset()), httpx.URL("https://inside.example/x")
    with capture_logs() as lines, pytest.raises(FetchRefused) as caught:
        await checked_addresses(rules, resolve, url)
    assert "10.11.12.13" not in f"{caught.value.message} {caught.value.details}"
    assert "inside.example is not a public host" in caught.value.message
    [line] = lines
    assert (line["event"], line["address"]) == ("fetch.private_address_refused", "10.11.12.13")
