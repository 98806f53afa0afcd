"""The methods of frame capture, as values that can be imported without their implementation."""

from enum import StrEnum


class GrabMethod(StrEnum):
    """The method of frame capture."""

    RAW = "raw-memory"
    SCREENSHOT = "begin-frame-screenshot"
