"""How fast passwords may be tried. Pure; the counts are in the database.

Failures are counted by e-mail address and source together: a source is a network, or a browser that
has logged in before. After a few failures each further attempt from that source has to wait, longer
each time. So nobody can lock out somebody else: each source has its own count, and a browser that
is known has one of its own wherever it is. Many failures for one address from many sources, or from
one source for many addresses, only slow each answer down a little. No source can keep the checks
of passwords busy alone.
"""

import ipaddress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

FREE_ATTEMPTS: Final = 5
"""Attempts of a source for an address before it has to wait."""
MAX_DELAY: Final = timedelta(minutes=1)
FORGET_AFTER: Final = timedelta(minutes=15)
"""After the last attempt."""
BUSY_FAILURES: Final = 50
"""Failures for an address, or from a network, after which answers are slowed down."""
BRIEF_DELAY_S: Final = 2.0
AT_ONCE: Final = 8
"""Attempts of a source whose passwords are checked or wait for it; each check costs 64 MiB."""
IPV6_PREFIX: Final = 64
"""A customer usually has a whole network of this size."""
UNKNOWN_NETWORK: Final = "unknown"


@dataclass(frozen=True)
class LoginAttempts:
    """Failed attempts of one source for one address, and the time of the last one."""

    count: int
    last_at: datetime

    def recent(self, now: datetime) -> int:
        """Return the count, or 0 if it is too old."""
        return 0 if self.last_at + FORGET_AFTER <= now else self.count

    def wait(self, now: datetime) -> timedelta:
        """Return how long the next attempt has to wait; zero or less if it need not."""
        surplus = self.recent(now) - FREE_ATTEMPTS
        if surplus < 0:
            return timedelta(0)
        # The exponent is capped: the longest wait is reached long before.
        pause = min(timedelta(seconds=2 ** min(surplus, 30)), MAX_DELAY)
        return self.last_at + pause - now


def network_of(client: str | None) -> str:
    """Return the network that a client's address belongs to."""
    try:
        address = ipaddress.ip_address((client or "").partition("%")[0])
    except ValueError:
        return UNKNOWN_NETWORK
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is None:
            return str(ipaddress.ip_network((address, IPV6_PREFIX), strict=False))
        address = address.ipv4_mapped
    return str(address)
