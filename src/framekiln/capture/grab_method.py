"""The ways of taking frames, as values: whoever names one need not import what does it."""

from enum import StrEnum


class GrabMethod(StrEnum):
    """How frames are taken."""

    RAW = "raw-memory"
    SCREENSHOT = "begin-frame-screenshot"
