from ipaddress import IPv4Address, IPv6Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from framekiln.kit.guarded_transport import is_public


@pytest.mark.parametrize(
    "address",
    [
        "1.1.1.1",
        "8.8.8.8",
        "93.184.216.34",
        "100.63.255.255",
        "100.128.0.1",
        "172.15.255.255",
        "172.32.0.1",
        "168.63.129.15",
        "198.17.255.255",
        "198.20.0.1",
        "223.255.255.255",
        "2001:200::1",
        "2606:4700::1111",
        "2a00:1450:4001:81b::200e",
    ],
)
def test_public_addresses_are_public(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize(
    "address",
    [
        pytest.param("0.0.0.0", id="this host"),
        pytest.param("10.1.1.1", id="private a"),
        pytest.param("100.64.0.1", id="carrier NAT"),
        pytest.param("100.100.100.200", id="metadata in carrier NAT"),
        pytest.param("127.0.0.1", id="loopback"),
        pytest.param("127.255.255.254", id="far end of loopback"),
        pytest.param("168.63.129.16", id="platform host that looks public"),
        pytest.param("169.254.169.254", id="metadata"),
        pytest.param("172.16.0.1", id="private b"),
        pytest.param("172.31.255.255", id="last of private b"),
        pytest.param("192.0.0.192", id="metadata in protocol assignments"),
        pytest.param("192.0.2.1", id="documentation 1"),
        pytest.param("192.88.99.1", id="6to4 relay"),
        pytest.param("192.168.1.1", id="private c"),
        pytest.param("198.18.0.1", id="benchmarking"),
        pytest.param("198.51.100.1", id="documentation 2"),
        pytest.param("203.0.113.1", id="documentation 3"),
        pytest.param("224.0.0.1", id="multicast"),
        pytest.param("240.0.0.1", id="reserved"),
        pytest.param("255.255.255.255", id="broadcast"),
        pytest.param("::", id="unspecified v6"),
        pytest.param("::1", id="loopback v6"),
        pytest.param("::127.0.0.1", id="compatible"),
        pytest.param("::ffff:127.0.0.1", id="mapped loopback"),
        pytest.param("::ffff:8.8.8.8", id="mapped public"),
        pytest.param("64:ff9b::7f00:1", id="NAT64"),
        pytest.param("64:ff9b:1::1", id="local NAT64"),
        pytest.param("100::1", id="discard"),
        pytest.param("2001::1", id="Teredo"),
        pytest.param("2001:db8::1", id="documentation v6"),
        pytest.param("2002:7f00:1::", id="6to4"),
        pytest.param("3fff::1", id="newer documentation v6"),
        pytest.param("fc00::1", id="unique local"),
        pytest.param("fd00:ec2::254", id="metadata v6"),
        pytest.param("fe80::1", id="link-local v6"),
        pytest.param("fe80::1%eth0", id="link-local with scope"),
        pytest.param("2606:4700::1111%eth0", id="global with scope"),
        pytest.param("fec0::1", id="site-local"),
        pytest.param("ff02::1", id="multicast v6"),
    ],
)
def test_other_addresses_are_not_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize(
    "text",
    ["", "localhost", "127.1", "0x7f000001", "2130706433", "010.0.0.1", "8.8.8.8:53"],
)
def test_malformed_addresses_are_not_public(text: str) -> None:
    assert not is_public(text)


@given(st.integers(min_value=0, max_value=2**32 - 1).map(IPv4Address))
def test_never_wider_than_the_standard_library_for_ipv4(address: IPv4Address) -> None:
    assert not is_public(str(address)) or (address.is_global and not address.is_multicast)


@given(st.integers(min_value=0, max_value=2**128 - 1).map(IPv6Address))
def test_never_wider_than_the_standard_library_for_ipv6(address: IPv6Address) -> None:
    assert not is_public(str(address)) or (address.is_global and not address.is_multicast)


@given(st.integers(min_value=0, max_value=2**32 - 1))
def test_no_form_that_carries_an_ipv4_address_is_public(inside: int) -> None:
    carriers = (
        IPv6Address(inside),
        IPv6Address((0xFFFF << 32) | inside),
        IPv6Address((0x64FF9B << 96) | inside),
        IPv6Address((0x2002 << 112) | (inside << 80)),
        IPv6Address((0x20010000 << 96) | inside),
    )
    assert [is_public(str(address)) for address in carriers] == [False] * len(carriers)
