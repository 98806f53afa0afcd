"""Garbage is not looked for while modules are imported, nor at the end of a process."""

import subprocess
import sys

PROGRAM = """
import gc, sys
from framekiln.kit.garbage import skip_last_collection, uncollected_imports

class Cycle:
    def __init__(self):
        self.own = self
    def __del__(self):
        print("collected", self.name, flush=True)

def make(name):
    Cycle().name = name

starts = []
gc.callbacks.append(lambda phase, info: starts.append(phase))
with uncollected_imports():
    kept = [[] for _ in range(100_000)]
    assert not gc.isenabled() and not starts
assert gc.isenabled() and gc.get_freeze_count() > 100_000
make("later")
gc.collect()
if sys.argv[1] == "skips":
    skip_last_collection()
make("last")
del kept
"""


def output(word: str) -> list[str]:
    words = [sys.executable, "-c", PROGRAM, word]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()


def test_what_is_imported_is_not_looked_through_and_later_garbage_is_found() -> None:
    assert output("collects") == ["collected later", "collected last"]


def test_the_last_collection_is_skipped() -> None:
    assert output("skips") == ["collected later"]
