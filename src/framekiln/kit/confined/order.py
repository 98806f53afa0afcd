"""The order of a confined child, and its encoding."""

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from framekiln.kit.confined.limits import ResourceLimits
from framekiln.kit.confined.sandbox import VisibleFiles, landlock_paths

OnReport = Callable[[dict[str, Any]], None]


@dataclass(frozen=True)
class ConfinedOrder:
    """The function to run: `task` is "package.module:function"."""

    task: str
    args: Mapping[str, Any]
    limits: ResourceLimits
    folder: Path
    readable: tuple[Path, ...] = ()
    is_writer: bool = True
    """Whether it may change files: those in `folder`."""
    packages: tuple[str, ...] = ("framekiln",)
    """The packages that it may import, besides that of the task."""

    @property
    def package(self) -> str:
        """The package that contains the task."""
        return self.task.partition(".")[0]

    def view(self) -> VisibleFiles:
        """Return the files that are visible to the child."""
        packages = dict.fromkeys((*self.packages, self.package))
        readable = tuple(path.absolute() for path in self.readable)
        return VisibleFiles(self.folder.absolute(), readable, tuple(packages))


def order_file(order: ConfinedOrder, *, has_landlock: bool) -> Any:
    """Return an open file in memory: an order of any length can be written before it is read."""
    view = order.view()
    words = {
        "task": order.task,
        "args": dict(order.args),
        "limits": asdict(order.limits),
        "folder": str(view.folder),
        "writable": [str(view.folder)] if order.is_writer else [],
        "landlock": [str(path) for path in landlock_paths(view)] if has_landlock else None,
        "parent": os.getpid(),
    }
    file = os.fdopen(os.memfd_create("order"), "w+b", buffering=0)
    file.write(json.dumps(words).encode())
    file.seek(0)
    return file
