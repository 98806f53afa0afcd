"""The path through time, against every path there is."""

from functools import cache

import numpy as np
import pytest

from framekiln.speech.token_words import dynamic_time_warp, token_times_ms


def cheapest(costs: np.ndarray) -> float:
    """Try all ways from corner to corner."""

    @cache
    def best(row: int, column: int) -> float:
        if row < 0 or column < 0:
            return float("inf")
        if row == column == 0:
            return float(costs[0, 0])
        before = min(best(row - 1, column - 1), best(row - 1, column), best(row, column - 1))
        return before + float(costs[row, column])

    return best(costs.shape[0] - 1, costs.shape[1] - 1)


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (1, 9), (6, 2), (7, 40), (20, 21)])
def test_the_path_is_complete_monotonic_and_cheapest(rows: int, columns: int) -> None:
    costs = np.random.default_rng(rows * columns).normal(size=(rows, columns))
    path = dynamic_time_warp(costs)
    assert tuple(path[0]) == (0, 0)
    assert tuple(path[-1]) == (rows - 1, columns - 1)
    steps = {tuple(step) for step in np.diff(path, axis=0).tolist()}
    assert steps <= {(0, 1), (1, 0), (1, 1)}
    assert sum(costs[row, column] for row, column in path) == pytest.approx(cheapest(costs))


def test_tokens_start_where_the_attention_starts() -> None:
    weights = np.full((2, 4, 100), 0.001, np.float32)
    for token, (start, end) in enumerate([(0, 30), (30, 55), (55, 80), (80, 100)]):
        weights[:, token, start:end] = 0.05
    assert token_times_ms(weights) == [0, 600, 1100, 1600]
