"""Token times from the attention of the decoder. Pure.

Dynamic time warping finds the cheapest monotonic path through all tokens and all time steps.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

STEP_MS: Final = 20

_MEDIAN_STEPS: Final = 7

Floats = NDArray[np.float64]


def token_times_ms(weights: NDArray[np.float32]) -> list[int]:
    """Return when each token begins, from attention as heads x tokens x steps of 20 ms."""
    path = dynamic_time_warp(-_sharpen(weights))
    begins = np.unique(path[:, 0], return_index=True)[1]
    return [int(step) * STEP_MS for step in path[begins, 1]]


def _sharpen(weights: NDArray[np.float32]) -> Floats:
    """Return tokens x steps: how much more a token attends to a step than other tokens do."""
    attention = np.asarray(weights, np.float64)
    attention = attention / np.maximum(attention.sum(axis=-1, keepdims=True), 1e-9)
    spread = attention.std(axis=-2, keepdims=True)
    attention = (attention - attention.mean(axis=-2, keepdims=True)) / (spread + 1e-6)
    return np.asarray(_median(attention).mean(axis=0), np.float64)


def _median(attention: Floats) -> Floats:
    half = _MEDIAN_STEPS // 2
    if attention.shape[-1] <= half:
        return attention
    padded = np.pad(attention, ((0, 0), (0, 0), (half, half)), mode="reflect")
    windows = np.lib.stride_tricks.sliding_window_view(padded, _MEDIAN_STEPS, axis=-1)
    return np.asarray(np.median(windows, axis=-1), np.float64)


def dynamic_time_warp(costs: Floats) -> NDArray[np.intp]:
    """Return the cheapest path as pairs of row and column, from corner to corner."""
    rows, columns = costs.shape
    total = np.full((rows + 1, columns + 1), np.inf)
    total[0, 0] = 0
    # All cells of a diagonal depend only on the two diagonals before it.
    for diagonal in range(2, rows + columns + 1):
        row = np.arange(max(1, diagonal - columns), min(rows, diagonal - 1) + 1)
        column = diagonal - row
        before = np.minimum(total[row - 1, column], total[row, column - 1])
        before = np.minimum(before, total[row - 1, column - 1])
        total[row, column] = before + costs[row - 1, column - 1]
    return _trace(total)


def _trace(total: Floats) -> NDArray[np.intp]:
    row, column = total.shape[0] - 1, total.shape[1] - 1
    path = []
    while row > 0 and column > 0:
        path.append((row - 1, column - 1))
        # On a tie the diagonal wins, then the earlier token.
        ways = ((row - 1, column - 1), (row - 1, column), (row, column - 1))
        row, column = min(ways, key=lambda way: total[way])
    return np.array(path[::-1], np.intp)
