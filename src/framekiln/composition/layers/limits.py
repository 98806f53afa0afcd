"""Limits of a layer config. Values beyond them are issues; nothing is truncated silently."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Final


@dataclass(frozen=True)
class ConfigLimits:
    """Limits that an operator may set; the defaults are documented."""

    side_px: int = 4096
    area_px: int = 3840 * 2160
    duration_s: int = 3600
    layers: int = 500
    """Including those in groups and sequences."""
    metadata_bytes: int = 16 * 1024


MAX_TRANSITIONS: Final = 200
MAX_TRANSITIONS_IN_ALL: Final = 10_000
"""Of all layers together, so that parsing takes at most about half a second."""
MAX_FILTERS: Final = 20
MAX_FONTS: Final = 50
MAX_TEXT_CHARS: Final = 10_000
MAX_PAGE_CHARS: Final = 1_000_000
MAX_URL_CHARS: Final = 8192
MAX_NESTING: Final = 8
"""The depth of nested groups."""
MAX_JSON_DEPTH: Final = 60
MAX_TIME_S: Final = 100 * 3600
"""Of any start, trim or keyframe, positive or negative: sources may be longer than films."""
MAX_OFFSET_PX: Final = 100_000
MAX_ANGLE_DEGREES: Final = 1_000_000
TIME_STEP_S: Final = Fraction(1, 10**9)
"""Times have a resolution of 1 ns: much finer than a sample, and sums stay short fractions."""
