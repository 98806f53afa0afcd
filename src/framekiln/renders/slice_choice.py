"""Which slice of a film a worker takes next."""

from collections.abc import Collection, Sequence


def choose_slice(free: Sequence[int], *, after: int | None) -> int | None:
    """Return the number of the slice to take next; `free` is sorted, `after` is the last one made.

    The worker's page is open at the end of slice `after`, so the next one is the cheapest. If that
    is not free, the worker starts in the middle of the longest free run: several workers spread
    over the film without any coordination.
    """
    if not free:
        return None
    if after is not None and after + 1 in free:
        return after + 1
    start, length = _longest_free_run(free)
    # People watch the beginning of a film first.
    if start == 0 or length == 1:
        return start
    return start + length // 2


def _longest_free_run(free: Collection[int]) -> tuple[int, int]:
    best_start, best_length = 0, 0
    start, length = -2, 0
    for number in free:
        if number == start + length:
            length += 1
        else:
            start, length = number, 1
        if length > best_length:
            best_start, best_length = start, length
    return best_start, best_length
