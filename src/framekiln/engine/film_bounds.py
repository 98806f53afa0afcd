"""The largest films. Values only: fast to import."""

from typing import Final

MAX_DURATION_MS: Final = 6 * 60 * 60 * 1000
MAX_SIDE_PX: Final = 8192
