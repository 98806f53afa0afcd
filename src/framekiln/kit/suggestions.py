"""Suggests the known name nearest to an unknown one."""

from collections.abc import Iterable


def did_you_mean(name: str, known: Iterable[str]) -> str | None:
    """Return a suggestion for an unknown name, or None if no known name is near."""
    near = nearest_name(name, known)
    return f"did you mean {near}?" if near else None


def nearest_name(name: str, known: Iterable[str]) -> str | None:
    """Return the known name with the fewest single-letter edits, or None if none is near."""
    wanted = name.lower()[:100]
    if len(wanted) < 2:
        return None
    allowed = 1 if len(wanted) < 4 else max(2, len(wanted) // 3)
    # The difference in length is the least distance, and much faster to compute.
    near = (other for other in known if abs(len(other) - len(wanted)) <= allowed)
    ranked = sorted((edit_distance(wanted, other.lower()), other) for other in near)
    return ranked[0][1] if ranked and ranked[0][0] <= allowed else None


def edit_distance(one: str, other: str) -> int:
    """Return how many letters must be added, removed or replaced (Levenshtein)."""
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        before, row[0] = row[0], i
        for j, against in enumerate(other, 1):
            cost = before if letter == against else 1 + min(before, row[j], row[j - 1])
            before, row[j] = row[j], cost
    return row[-1]
