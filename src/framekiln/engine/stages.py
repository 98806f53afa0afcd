"""The stage that an order needs: a page, or layers. Both have the same face."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

from framekiln.capture.browser import Browser
from framekiln.capture.framebuffer import Pixels
from framekiln.engine.digests import FilmDigests
from framekiln.engine.heard import HeardPiece, MediaWindow, PageSound
from framekiln.engine.order import FilmLimits, FilmOrder, StillMoment
from framekiln.engine.shot import Shot
from framekiln.engine.slices import Slice
from framekiln.engine.stage import open_stage


class AnyStage(Protocol):
    """Something that is filmed slice after slice; owned by one thread."""

    shot: Shot

    @property
    def next_frame(self) -> int:
        """The first frame that can still be shown."""
        ...

    @property
    def is_foreseen(self) -> bool:
        """Whether all that was filmed so far is what the digests say."""
        ...

    def digests(self, slices: Sequence[Slice]) -> FilmDigests:
        """Return what slices, and the sound, are made of."""
        ...

    def film(self, slice_: Slice, path: Path, shown: Callable[[int], None]) -> None:
        """Make one slice; it must not lie behind `next_frame`."""
        ...

    def still(self, moment: StillMoment) -> Pixels:
        """Return one picture as BGRA."""
        ...

    def sounds(self) -> tuple[MediaWindow | HeardPiece, ...]:
        """Return what is heard of sources, once the last frame was shown."""
        ...

    def save_sounds(self, folder: Path) -> tuple[PageSound, ...]:
        """Write what the stage itself has mixed into files, once its last frame was filmed."""
        ...

    def take_captured(self) -> int:
        """Return how many frames' pixels were taken since the last call."""
        ...

    def warnings(self) -> tuple[str, ...]:
        """Return what the film's owner should know."""
        ...

    def record(self) -> dict[str, Any]:
        """Return how the frames were made."""
        ...


def open_stage_for(
    order: FilmOrder, browser: Browser, limits: FilmLimits, *, fallback_reason: str | None = None
) -> AbstractContextManager[AnyStage]:
    """Open what the order is made of, ready to film its first frame."""
    if order.layers is None:
        return open_stage(order, browser, limits, fallback_reason=fallback_reason)
    # The compositor and all it draws with; pages need none of it.
    from framekiln.engine.layers.stage import open_layers  # noqa: PLC0415

    return open_layers(order, browser, limits, fallback_reason=fallback_reason)
