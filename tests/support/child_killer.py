"""Kills confined children from outside, as the kernel does when memory runs out."""

import os
import signal
import time
from threading import Event, Thread

from tests.support.decoders import order_children

_POLL_S = 0.005


class ChildKiller(Thread):
    """Kills the first children that are started for an order."""

    def __init__(self, count: int = 1) -> None:
        super().__init__(name="child killer")
        self._count = count
        self._spared = order_children()
        self._is_over = Event()
        self.killed: set[int] = set()

    def run(self) -> None:
        while len(self.killed) < self._count and not self._is_over.is_set():
            for pid in sorted(order_children() - self._spared - self.killed)[:1]:
                os.kill(pid, signal.SIGKILL)
                self.killed.add(pid)
            time.sleep(_POLL_S)

    def __enter__(self) -> "ChildKiller":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self.join()
