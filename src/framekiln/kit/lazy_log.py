"""Logs of processes that rarely write a line, such as those of `framekiln render`.

structlog takes a tenth of a second to import: a large part of what such a process needs to start.
"""

from collections.abc import Callable
from typing import Any, ClassVar


class LazyLogger:
    """A logger of structlog, which is imported and configured with the first line."""

    configure: ClassVar[Callable[[], None] | None] = None
    """What configures the logs of this process; None if that is done, or wanted by nobody."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, method: str) -> Any:
        import structlog  # noqa: PLC0415

        configure, LazyLogger.configure = LazyLogger.configure, None
        if configure is not None:
            configure()
        return getattr(structlog.get_logger(self._name), method)
