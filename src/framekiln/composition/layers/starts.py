"""Starts of layers as texts: `after:<id>` and `with:<id>`, plus or minus seconds."""

import re
from collections.abc import Set
from fractions import Fraction
from typing import Final

from framekiln.composition.layers.numbers import as_json_number, numeric_text, seconds_on_grid
from framekiln.composition.layers.values import Anchor, Start

_ANCHORED: Final = re.compile(r"\s*(after|with):(.{1,150})", re.DOTALL)
_SHIFTED: Final = re.compile(r"(.+?)\s*([+-]\s*\d{0,6}\.?\d{1,9})s?\s*", re.DOTALL)


def is_anchored(text: str) -> bool:
    """Whether a text has the form of a start relative to another layer."""
    return _ANCHORED.fullmatch(text) is not None


def read_anchored(text: str, layer_ids: Set[str]) -> Start | None:
    """Return a start relative to one of the layers, or None."""
    anchored = _ANCHORED.fullmatch(text)
    if anchored is None:
        return None
    anchor, rest = Anchor(anchored[1]), anchored[2].strip()
    if rest in layer_ids:
        return Start(Fraction(0), anchor, rest)
    shifted = _SHIFTED.fullmatch(rest)
    if shifted is None or shifted[1] not in layer_ids:
        return None
    shift = numeric_text(shifted[2].replace(" ", ""))
    return Start(seconds_on_grid(shift or Fraction(0)), anchor, shifted[1])


def write_start(start: Start) -> int | float | str:
    """Return a start as JSON."""
    if start.anchor is None:
        return as_json_number(start.at_s)
    shift = "" if not start.at_s else f"{float(start.at_s):+.9f}".rstrip("0").rstrip(".")
    return f"{start.anchor.value}:{start.layer_id}{shift}"
