"""Graphs of steps, as who needs whom. Knows nothing else of steps. Pure.

Every function takes the same mapping: each step with the steps it needs directly.
"""

from collections.abc import Collection, Iterator, Mapping

Needs = Mapping[str, Collection[str]]


def upstream(needs: Needs, key: str) -> frozenset[str]:
    """Return the steps that a step needs, directly or not; itself only if it is in a cycle."""
    found: set[str] = set()
    waiting = [key]
    while waiting:
        for need in needs[waiting.pop()]:
            if need not in found:
                found.add(need)
                waiting.append(need)
    return frozenset(found)


def by_distance(needs: Needs, key: str) -> Iterator[list[str]]:
    """Yield the steps that a step needs directly, then those one step further away, and so on."""
    seen = {key}
    level = [key]
    while level := sorted({need for each in level for need in needs[each]} - seen):
        seen.update(level)
        yield level


def in_cycles(needs: Needs) -> frozenset[str]:
    """Return the steps that need themselves, directly or not."""
    return frozenset(key for key in needs if key in upstream(needs, key))


def in_order(needs: Needs) -> list[str]:
    """Return the steps so that each comes after those it needs: by depth, then by key.

    The graph must have no cycle.
    """
    depths: dict[str, int] = {}
    while len(depths) < len(needs):
        for key, direct in needs.items():
            if key not in depths and all(need in depths for need in direct):
                depths[key] = max((depths[need] + 1 for need in direct), default=0)
    return sorted(needs, key=lambda key: (depths[key], key))
