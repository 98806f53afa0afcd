"""Objects that own a decoder: closed explicitly, or at the end of their `with` block."""

from types import TracebackType
from typing import Self


class Closeable:
    """Gives `close` a `with` block."""

    def close(self) -> None:
        """Free what is held; closing twice is harmless."""
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
