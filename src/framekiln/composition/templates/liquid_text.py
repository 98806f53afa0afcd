"""Detects and parses texts that contain Liquid.

Most texts have none, so the library behind `liquid_engine` is imported on first use.
"""

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from framekiln.composition.templates.liquid_engine import LiquidText

_MAY_HOLD_LIQUID: Final = re.compile(r"\{\{|\{%")


def holds_liquid(text: str) -> bool:
    """Whether a text contains Liquid."""
    return _MAY_HOLD_LIQUID.search(text) is not None


def parse(text: str) -> "LiquidText":
    """Return the parsed text, or raise `TemplateLiquidError`."""
    from framekiln.composition.templates import liquid_engine  # noqa: PLC0415

    return liquid_engine.parse(text)
