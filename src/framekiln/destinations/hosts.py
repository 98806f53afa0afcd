"""How many copies go to one host at a time. Counted in the memory of each worker."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final
from urllib.parse import urlsplit

MAX_COPIES_PER_HOST: Final = 8


class HostPlaces:
    """The running copies by host. A host that is slow, or a victim, gets only a few at a time."""

    def __init__(self, most: int = MAX_COPIES_PER_HOST) -> None:
        self._most = most
        self._running = Counter[str]()

    @contextmanager
    def place(self, url: str) -> Iterator[bool]:
        """Take a place at the host of `url`; False if all are taken."""
        host = urlsplit(url).hostname or ""
        if self._running[host] >= self._most:
            yield False
            return
        self._running[host] += 1
        try:
            yield True
        finally:
            self._running[host] -= 1
            if not self._running[host]:
                del self._running[host]
