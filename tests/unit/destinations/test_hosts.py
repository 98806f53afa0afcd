"""Copies to one host at a time."""

from framekiln.destinations.hosts import HostPlaces


def test_each_host_has_a_few_places_and_gives_them_back() -> None:
    hosts = HostPlaces(most=1)
    for _ in range(2):
        with (
            hosts.place("https://a.example/1") as first,
            hosts.place("https://A.example:444/2") as second,
            hosts.place("https://b.example/1") as other,
        ):
            assert (first, second, other) == (True, False, True)
