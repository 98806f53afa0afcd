"""A render whose output is one picture: shot and encoded in one go, without slices."""

from dataclasses import dataclass, field
from typing import Any

from framekiln.capture.browser import Browser
from framekiln.engine.order import FilmLimits, FilmOrder, StillMoment
from framekiln.engine.stages import AnyStage, open_stage_for
from framekiln.engine.studio import Alive
from framekiln.media.imaging.stills import StillFormat, encode_still
from framekiln.renders.model import Made, Render
from framekiln.renders.output import FilmFormat


def still_moment(render: Render) -> StillMoment | None:
    """Return which picture a render wants; None when it wants a film."""
    if isinstance(render.output, FilmFormat):
        return None
    return StillMoment(
        at_ms=render.asked.duration_ms or 0,
        is_transparent=getattr(render.output, "transparency", False),
    )


@dataclass
class Still:
    """Shot by a film thread, read by the job when that is done."""

    order: FilmOrder
    limits: FilmLimits
    format: StillFormat
    data: bytes = field(default=b"", init=False)
    _facts: dict[str, Any] = field(default_factory=dict, init=False)

    def shoot(self, browser: Browser, alive: Alive) -> None:
        """Open the page, take the picture, encode it."""
        assert self.order.still is not None
        with open_stage_for(self.order, browser, self.limits) as stage:
            alive()
            self.data = encode_still(stage.still(self.order.still), self.format)
            self._facts = {
                "width_px": stage.shot.size.width_px,
                "height_px": stage.shot.size.height_px,
                "fps": stage.shot.timeline.fps,
                "record": stage_record(stage),
            }

    def made(self, *, output_key: str) -> Made:
        """Return what was made."""
        assert self.order.still is not None
        return Made(
            **self._facts,
            duration_ms=self.order.still.at_ms,
            output_key=output_key,
            byte_size=len(self.data),
        )


def stage_record(stage: AnyStage) -> dict[str, Any]:
    """Return how a stage's frames were made."""
    return {
        **stage.record(),
        "captured_frames": stage.take_captured(),
        "warnings": list(stage.warnings()),
    }
