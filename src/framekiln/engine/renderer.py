"""Renderers: one protocol for pages and layers, and the choice between them."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

from framekiln.capture.browser import Browser
from framekiln.capture.framebuffer import Pixels
from framekiln.engine.audio_clips import LayerAudioClip, PageAudio, PageAudioClip
from framekiln.engine.digests import FilmDigests
from framekiln.engine.film_order import FilmLimits, FilmOrder, StillMoment
from framekiln.engine.film_settings import FilmSettings
from framekiln.engine.page.renderer import open_page_renderer
from framekiln.engine.slices import FilmSlice


class FilmRenderer(Protocol):
    """Something that is filmed slice after slice; owned by one thread."""

    settings: FilmSettings

    @property
    def next_frame(self) -> int:
        """The first frame that can still be shown."""
        ...

    @property
    def is_cacheable(self) -> bool:
        """Whether the digests cover every input of what was rendered so far."""
        ...

    def digests(self, slices: Sequence[FilmSlice]) -> FilmDigests:
        """Return what slices, and the sound, are made of."""
        ...

    def render_slice(self, slice_: FilmSlice, path: Path, shown: Callable[[int], None]) -> None:
        """Make one slice; it must not lie behind `next_frame`."""
        ...

    def render_still(self, moment: StillMoment) -> Pixels:
        """Return one picture as BGRA."""
        ...

    def audio_clips(self) -> tuple[PageAudioClip | LayerAudioClip, ...]:
        """Return what is heard of sources, once the last frame was shown."""
        ...

    def save_page_audio(self, folder: Path) -> tuple[PageAudio, ...]:
        """Write what the stage itself has mixed into files, once its last frame was filmed."""
        ...

    def take_captured_count(self) -> int:
        """Return how many frames' pixels were taken since the last call."""
        ...

    def warnings(self) -> tuple[str, ...]:
        """Return what the film's owner should know."""
        ...

    def record(self) -> dict[str, Any]:
        """Return how the frames were made."""
        ...


def open_renderer(
    order: FilmOrder, browser: Browser, limits: FilmLimits, *, fallback_reason: str | None = None
) -> AbstractContextManager[FilmRenderer]:
    """Open what the order is made of, ready to film its first frame."""
    if order.layers is None:
        return open_page_renderer(order, browser, limits, fallback_reason=fallback_reason)
    # The compositor and all it draws with; pages need none of it.
    from framekiln.engine.layers.renderer import open_layer_renderer  # noqa: PLC0415

    return open_layer_renderer(order, browser, limits, fallback_reason=fallback_reason)
