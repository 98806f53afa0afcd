"""A render whose output is one picture: shot and encoded in one go, without slices."""

from dataclasses import dataclass, field
from typing import Any

from framekiln.capture.browser import Browser
from framekiln.engine.film_order import FilmLimits, FilmOrder, StillMoment
from framekiln.engine.film_threads import CheckAlive
from framekiln.engine.renderer import FilmRenderer, open_renderer
from framekiln.media.images.stills import StillFormat, encode_still
from framekiln.renders.model import Render, RenderResult
from framekiln.renders.output import FilmFormat


def still_moment(render: Render) -> StillMoment | None:
    """Return which picture a render wants; None when it wants a film."""
    if isinstance(render.output, FilmFormat):
        return None
    return StillMoment(
        at_ms=render.options.duration_ms or 0,
        is_transparent=getattr(render.output, "transparency", False),
    )


@dataclass
class StillRender:
    """Shot by a film thread, read by the job when that is done."""

    order: FilmOrder
    limits: FilmLimits
    format: StillFormat
    data: bytes = field(default=b"", init=False)
    _facts: dict[str, Any] = field(default_factory=dict, init=False)

    def shoot(self, browser: Browser, alive: CheckAlive) -> None:
        """Open the page, take the picture, encode it."""
        assert self.order.still is not None
        with open_renderer(self.order, browser, self.limits) as renderer:
            alive()
            self.data = encode_still(renderer.render_still(self.order.still), self.format)
            self._facts = {
                "width_px": renderer.settings.size.width_px,
                "height_px": renderer.settings.size.height_px,
                "fps": renderer.settings.timeline.fps,
                "record": capture_record(renderer),
            }

    def result(self, *, output_key: str) -> RenderResult:
        """Return what was made."""
        assert self.order.still is not None
        return RenderResult(
            **self._facts,
            duration_ms=self.order.still.at_ms,
            output_key=output_key,
            byte_size=len(self.data),
        )


def capture_record(renderer: FilmRenderer) -> dict[str, Any]:
    """Return how a stage's frames were made."""
    return {
        **renderer.record(),
        "captured_frames": renderer.take_captured_count(),
        "warnings": list(renderer.warnings()),
    }
