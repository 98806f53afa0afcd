"""Objects that own resources: closed explicitly, or at the end of their `with` block."""

from types import TracebackType
from typing import Self


class Closeable:
    """Adds `with` support to a class with `close`."""

    def close(self) -> None:
        """Free all resources; closing twice is harmless."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
