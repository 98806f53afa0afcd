"""What a film is ordered with, how long it may take, and what came of it. Values only."""

from dataclasses import dataclass, field
from fractions import Fraction

from framekiln.capture.grab_method import GrabMethod
from framekiln.capture.page import FrameSize
from framekiln.composition.layers import LayerConfig
from framekiln.engine.assets import Assets, NoAssets
from framekiln.engine.page_api import NoService, PageServiceBackend
from framekiln.engine.site import Site
from framekiln.settings import Settings
from framekiln.timeline import Timeline

DEFAULT_SIZE = FrameSize(1280, 720)
DEFAULT_FPS = Fraction(30)
MAX_DURATION_MS = 6 * 60 * 60 * 1000
MAX_SIDE_PX = 8192


@dataclass(frozen=True)
class FilmOrder:
    """What to make; None means: as the composition says."""

    html: str = ""
    width_px: int | None = None
    height_px: int | None = None
    fps: Fraction | None = None
    duration_ms: int | None = None
    assets: Assets = field(default_factory=NoAssets)
    grabbing: GrabMethod = GrabMethod.RAW
    """How to take the frames, if it can be done."""
    still: "StillMoment | None" = None
    """Set when one picture is wanted instead of a film."""
    site: Site | None = None
    """The files of a bundle; its index.html is `html`."""
    layers: LayerConfig | None = None
    """A config to be composed instead of a page; size, rate and length are its own."""
    container: str = "mp4"
    """Of a page's film, a key of `FILM_CONTAINERS`; a layer config has its own."""
    data: str | None = None
    """What the page finds as its render data: JSON."""
    service: PageServiceBackend = field(default_factory=NoService)
    """What stands behind a page with a runtime of its own."""


@dataclass(frozen=True)
class StillMoment:
    """The one picture wanted."""

    at_ms: int
    is_transparent: bool


@dataclass(frozen=True)
class FilmLimits:
    """How long things may take before the composition is given up."""

    settle_s: float = 30.0
    frame_s: float = 30.0
    whole_s: float = 3600.0

    @classmethod
    def of(cls, settings: Settings) -> "FilmLimits":
        """Return what the operator allows; a frame may take as long as a page may to load."""
        return cls(
            settle_s=settings.settle_timeout_s,
            frame_s=settings.settle_timeout_s,
            whole_s=settings.render_timeout_s,
        )


@dataclass(frozen=True)
class FilmResult:
    """What was made, and how."""

    size: FrameSize
    timeline: Timeline
    grabbing: str
    fallback_reason: str | None
    confinement: str
    browser: str
    captured_frames: int
    """Frames whose pixels were taken; the others were like the one before."""
    warnings: tuple[str, ...]
