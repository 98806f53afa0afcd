"""Which network a client belongs to."""

import pytest

from framekiln.identity.throttle import UNKNOWN_NETWORK, network_of


@pytest.mark.parametrize(
    ("client", "network"),
    [
        ("203.0.113.9", "203.0.113.9"),
        ("::ffff:203.0.113.9", "203.0.113.9"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2:ffff::", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("unix:", UNKNOWN_NETWORK),
        ("", UNKNOWN_NETWORK),
        (None, UNKNOWN_NETWORK),
    ],
)
def test_clients_are_grouped_by_network(client: str | None, network: str) -> None:
    assert network_of(client) == network
