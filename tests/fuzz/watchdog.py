"""Ends a process whose input hangs inside one call of C, where no Python code runs any more.

Counting function calls (`targets`) cannot see that, nor can a signal handler. The thread of
faulthandler can: it writes a traceback and ends the process. The input is in a file by then.
"""

import faulthandler
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

HANG_S = 60.0
"""No input of a few kilobytes takes so long, even on a busy machine."""
_STANDARD_ERROR = 2


class Watchdog:
    """Watches one input after the other."""

    def __init__(self, note: BinaryIO, hang_s: float = HANG_S) -> None:
        self._note = note
        self._hang_s = hang_s

    @contextmanager
    def watch(self, value: object) -> Iterator[None]:
        """End the process if the block takes too long; the input is noted before."""
        self._note.seek(0)
        self._note.write(repr(value).encode("utf-8", "backslashreplace"))
        self._note.truncate()
        self._note.flush()
        faulthandler.dump_traceback_later(self._hang_s, exit=True, file=_STANDARD_ERROR)
        try:
            yield
        finally:
            faulthandler.cancel_dump_traceback_later()


def noted_input(path: Path) -> str:
    """Return the input that was the last one."""
    return path.read_text("utf-8")
