"""Renderers: one protocol for pages and layers, and the function that opens either."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Protocol

from framekiln.capture.browser import Browser
from framekiln.capture.framebuffer import Pixels
from framekiln.engine.audio_clips import AudioClips, PageAudio
from framekiln.engine.film_order import FilmLimits, FilmOrder, PageMethod, StillMoment
from framekiln.engine.film_plan import CaptureRecord, FilmDigests, FilmPlan, FilmSlice
from framekiln.engine.page.renderer import open_page_renderer
from framekiln.kit.confined.budget import sessions_of_one_film


class FilmRenderer(Protocol):
    """Renders a composition slice by slice; owned by one thread."""

    plan: FilmPlan
    is_declarative: bool
    """Whether any frame can be shown without showing those before it."""

    @property
    def next_frame(self) -> int:
        """The first frame that can still be shown."""
        ...

    @property
    def has_copied(self) -> bool:
        """Whether a slice so far has packets of a source in it."""
        ...

    @property
    def is_cacheable(self) -> bool:
        """Whether the digests cover every input of what was rendered so far."""
        ...

    def digests(self, slices: Sequence[FilmSlice]) -> FilmDigests:
        """Return the digests of the inputs of slices, and of the sound."""
        ...

    def render_slice(self, slice_: FilmSlice, path: Path, shown: Callable[[int], None]) -> None:
        """Write one slice; it must not begin before `next_frame`."""
        ...

    def render_still(self, moment: StillMoment) -> Pixels:
        """Return one frame as BGRA."""
        ...

    def audio_clips(self) -> AudioClips:
        """Return the audible parts of sources, once the last frame was shown."""
        ...

    def save_page_audio(self, folder: Path) -> tuple[PageAudio, ...]:
        """Write the page's own sound into files, once its last frame was shown."""
        ...

    def warnings(self) -> tuple[str, ...]:
        """Return the warnings for the film's owner."""
        ...

    def take_record(self) -> CaptureRecord:
        """Return how the frames since the last call were made."""
        ...


@contextmanager
def open_renderer(
    order: FilmOrder, browser: Browser, limits: FilmLimits, *, fallback_reason: str | None = None
) -> Iterator[FilmRenderer]:
    """Open the renderer for the order, ready for its first frame."""
    with (
        sessions_of_one_film(),
        _opened(order, browser, limits, fallback_reason=fallback_reason) as renderer,
    ):
        yield renderer


def _opened(
    order: FilmOrder, browser: Browser, limits: FilmLimits, *, fallback_reason: str | None
) -> AbstractContextManager[FilmRenderer]:
    if order.layers is None and order.page_method is PageMethod.FILMED:
        return open_page_renderer(order, browser, limits, fallback_reason=fallback_reason)
    # Filmed pages do not need the compositor and its libraries.
    if order.layers is None:
        from framekiln.engine.composed.renderer import open_composed_renderer  # noqa: PLC0415

        return open_composed_renderer(order, browser, limits, fallback_reason=fallback_reason)
    from framekiln.engine.layers.renderer import open_layer_renderer  # noqa: PLC0415

    return open_layer_renderer(order, browser, limits, fallback_reason=fallback_reason)
