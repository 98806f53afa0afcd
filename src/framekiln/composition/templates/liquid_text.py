"""Texts with Liquid in them: which do, and how they are parsed.

Most texts have none, so the library behind `liquid_engine` is imported with the first that has.
"""

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from framekiln.composition.templates.liquid_engine import LiquidText

_MAY_HOLD_LIQUID: Final = re.compile(r"\{\{|\{%")


def holds_liquid(text: str) -> bool:
    """Tell whether a text has anything to fill in."""
    return _MAY_HOLD_LIQUID.search(text) is not None


def parse(text: str) -> "LiquidText":
    """Return the parsed text, or raise `TemplateLiquidError`."""
    from framekiln.composition.templates import liquid_engine  # noqa: PLC0415

    return liquid_engine.parse(text)
