"""The rate of all sound that is mixed: whoever counts samples need not import what reads them."""

from typing import Final

RATE_HZ: Final = 48_000
