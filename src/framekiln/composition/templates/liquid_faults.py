"""What a text with Liquid in it may be, and what is wrong with one."""

from typing import Final

MAX_TEXT_CHARS: Final = 1_000_000


class LiquidFault(Exception):
    """A text that is no Liquid, or that cannot be rendered; `code` is that of an issue."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
