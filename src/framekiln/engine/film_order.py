"""The order for a film, and the time limits on making it. Values only."""

from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from framekiln.capture.grab_method import GrabMethod
from framekiln.capture.page import FrameSize
from framekiln.composition.render_preset import RenderPreset
from framekiln.engine.assets import Assets, NoAssets
from framekiln.engine.page_api import NoService, PageServiceBackend
from framekiln.engine.site import Site
from framekiln.settings import Settings

if TYPE_CHECKING:
    # Pages do not need it, and importing it takes as long as opening one.
    from framekiln.composition.layers import LayerConfig

DEFAULT_SIZE = FrameSize(1280, 720)
DEFAULT_FPS = Fraction(30)


MIN_COMPOSED_FRAMES: Final = 120
"""Below this, loading a page twice and drawing its layers costs what it saves: a worker gains from
about 60 frames on, and two may share a film.
"""


_MIN_COMPOSED_PX: Final = 640 * 360
"""Below this, Chromium draws a frame as fast as it is composed."""


def small_film_reason(size: FrameSize, frame_count: int) -> str | None:
    """Return why composing a film costs as much as it saves; None if it does not."""
    if frame_count < MIN_COMPOSED_FRAMES:
        return f"it has less than {MIN_COMPOSED_FRAMES} frames"
    if size.width_px * size.height_px < _MIN_COMPOSED_PX:
        return "its frames have less than 640x360 pixels"
    return None


class PageMethod(StrEnum):
    """How the frames of a page are made."""

    FILMED = "filmed"
    """Chromium draws each frame."""
    COMPOSED = "composed"
    """Chromium draws each layer once, wherever the motion of a page is known beforehand."""
    AUTO = "auto"
    """Composed if that is as sharp, and the film is long and large enough to gain by it."""


@dataclass(frozen=True)
class FilmOrder:
    """What to make. None leaves the choice to the composition."""

    html: str = ""
    width_px: int | None = None
    height_px: int | None = None
    fps: Fraction | None = None
    duration_ms: int | None = None
    assets: Assets = field(default_factory=NoAssets)
    grabbing: GrabMethod = GrabMethod.RAW
    """How to capture frames, where that is possible."""
    still: "StillMoment | None" = None
    """Set when one picture is wanted instead of a film."""
    site: Site | None = None
    """The files of a bundle; its index.html is `html`."""
    layers: "LayerConfig | None" = None
    """A layer config instead of a page; it has its own size, frame rate, length and time."""
    container: str = "mp4"
    """The container of a page's film, a key of `FILM_CONTAINERS`; a layer config has its own."""
    preset: RenderPreset = RenderPreset.STANDARD
    """The preset of a page's film; a layer config has its own."""
    data: str | None = None
    """The page's render data, as JSON."""
    page_method: PageMethod = PageMethod.AUTO
    draws_all_frames: bool = False
    """Whether Chromium draws those frames of a page, too, in which nothing should change."""
    has_page_digests: bool = False
    """Whether digests of a page's slices are wanted, so that equal ones can be reused."""
    service: PageServiceBackend = field(default_factory=NoService)
    """The service that a page with an external runtime expects."""


@dataclass(frozen=True)
class StillMoment:
    """The one picture wanted; of a layer config, the one at its own time."""

    at_ms: int
    is_transparent: bool


@dataclass(frozen=True)
class FilmLimits:
    """Time limits; beyond them the composition fails."""

    settle_s: float = 30.0
    frame_s: float = 30.0
    whole_s: float = 3600.0

    @classmethod
    def of(cls, settings: Settings) -> "FilmLimits":
        """Return the operator's limits; a frame may take as long as loading the page."""
        return cls(
            settle_s=settings.settle_timeout_s,
            frame_s=settings.settle_timeout_s,
            whole_s=settings.render_timeout_s,
        )
