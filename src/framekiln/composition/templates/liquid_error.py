"""The error of texts that are not valid Liquid or cannot be rendered."""

from typing import Final

MAX_TEXT_CHARS: Final = 1_000_000


class TemplateLiquidError(Exception):
    """A text that is not valid Liquid, or that cannot be rendered; `code` is that of an issue."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
