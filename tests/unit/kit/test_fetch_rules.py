"""Addresses that may not be fetched are refused with the cause, and with what would allow them."""

import httpx
import pytest

from framekiln.kit.guarded_transport import FetchRefused, FetchRules


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
