"""Garbage collection where it would find nothing: while modules are imported, and at the end.

A process of the service imports a thousand modules. To look through them again and again takes a
sixth of its start, and to look through them a last time a tenth of a second at its end.
"""

import atexit
import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected_imports() -> Iterator[None]:
    """Import without collections, and let later ones pass over what is there by then."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.freeze()
            gc.enable()


def skip_last_collection() -> None:
    """Let the process exit without a collection: the kernel takes all of its memory anyway."""
    atexit.register(gc.freeze)
