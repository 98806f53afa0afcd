"""Finds confined children of this process: decoders of films, and those that run one order."""

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path


def decoders() -> set[int]:
    """Return the processes below this one that decode."""
    parents = _parents()
    return {pid for pid in _ours(parents) if _is_leaf_of_zygote(pid, parents)}


def order_children() -> set[int]:
    """Return the processes below this one that were started for one order."""
    return {pid for pid in _ours(_parents()) if _is_order_child(_words(pid))}


def _parents() -> dict[int, int]:
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                stat = (entry / "stat").read_text()
                parents[int(entry.name)] = int(stat.rpartition(")")[2].split()[1])
    return parents


def _ours(parents: Mapping[int, int]) -> set[int]:
    ours = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in ours} - ours:
        ours |= more
    return ours


def _is_order_child(words: Sequence[bytes]) -> bool:
    # Bubblewrap has the command of the child among its own words.
    is_python = b"python" in words[0].rpartition(b"/")[2]
    return is_python and b"framekiln.kit.confined.child" in words


def _is_leaf_of_zygote(pid: int, parents: Mapping[int, int]) -> bool:
    def is_zygote(number: int) -> bool:
        words = _words(number)
        return b"framekiln.kit.confined.zygote" in words and b"-m" in words[:5]

    return is_zygote(pid) and is_zygote(parents[pid]) and pid not in parents.values()


def _words(pid: int) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return [b""]
