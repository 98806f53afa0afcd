"""How much work goes into encoding a film: the `preset` of requests."""

from enum import StrEnum


class RenderPreset(StrEnum):
    """A faster preset makes a larger or plainer file of the same frames."""

    DRAFT = "draft"
    STANDARD = "standard"
    HIGH = "high"
