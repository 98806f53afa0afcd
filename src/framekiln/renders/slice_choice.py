"""Which slice a worker takes next. Pure.

A worker that has just made a slice has the page open at the right frame, so it goes on with the
next one if that is free. Otherwise it starts where it will be least in the way: in the middle of
the longest free stretch, so that several workers spread over the film by themselves.
"""

from collections.abc import Collection, Sequence


def choose_slice(free: Sequence[int], *, after: int | None) -> int | None:
    """Return the number of the slice to take; `free` is sorted, `after` was made last."""
    if not free:
        return None
    if after is not None and after + 1 in free:
        return after + 1
    start, length = _longest_free_run(free)
    # The first slice of the film is what people watch first.
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
