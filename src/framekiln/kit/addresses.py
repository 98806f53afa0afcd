"""Decides which IP addresses are public; every outbound request is checked with it.

Pure: it checks an address, never a name. It does not use the standard library, whose `is_global`
is true for routes into private networks such as NAT64, 6to4 and multicast.
"""

from ipaddress import AddressValueError, IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Final

_PRIVATE_4: Final = tuple(
    IPv4Network(text)
    for text in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # carrier-grade NAT; some clouds keep their metadata here
        "127.0.0.0/8",  # loopback
        "168.63.129.16/32",  # looks public, but is the host of every Azure machine
        "169.254.0.0/16",  # link-local; most clouds keep their metadata here
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # protocol assignments
        "192.0.2.0/24",  # documentation
        "192.88.99.0/24",  # 6to4 relays
        "192.168.0.0/16",  # private
        "198.18.0.0/15",  # benchmarking
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, and broadcast
    )
)

# Everything outside this range is refused: loopback, private, link-local, multicast, and the forms
# that contain an IPv4 address (mapped, compatible, NAT64).
_GLOBAL_6: Final = IPv6Network("2000::/3")
_PRIVATE_6: Final = tuple(
    IPv6Network(text)
    for text in (
        "2001::/23",  # protocol assignments; Teredo carries an IPv4 address
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4 carries an IPv4 address
        "3fff::/20",  # documentation
    )
)


def is_public(address: str) -> bool:
    """Return whether `address` is public; anything other than a plain address is not."""
    try:
        if ":" in address:
            return _is_public_6(IPv6Address(address))
        return not _is_in(IPv4Address(address), _PRIVATE_4)
    except AddressValueError:
        return False


def _is_public_6(address: IPv6Address) -> bool:
    # A scope names one of our own network interfaces, so such an address is local.
    if address.scope_id is not None or address not in _GLOBAL_6:
        return False
    return not any(address in network for network in _PRIVATE_6)


def _is_in(address: IPv4Address, networks: tuple[IPv4Network, ...]) -> bool:
    return any(address in network for network in networks)
