"""When the benchmark of hostile neighbours fails."""

from tests.bench.neighbours import NeighbourRow, slow_neighbours


def test_a_film_that_takes_more_than_one_and_a_half_times_as_long_fails() -> None:
    rows = [NeighbourRow("fine", 1.5, 1.0), NeighbourRow("slow", 3.1, 2.0)]
    assert slow_neighbours(rows) == ["slow"]
