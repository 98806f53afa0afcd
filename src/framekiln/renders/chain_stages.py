"""The stage of a chain of slices: opened when it is needed, and again when it must be."""

from contextlib import ExitStack
from dataclasses import replace
from types import TracebackType

from framekiln.capture.browser import Browser
from framekiln.engine.order import FilmLimits, FilmOrder
from framekiln.engine.stages import AnyStage, open_stage_for
from framekiln.renders.plan import RenderPlan


class ChainStages:
    """One stage at a time, replaced when a slice lies behind it or raw frames prove wrong."""

    def __init__(
        self, order: FilmOrder, browser: Browser, limits: FilmLimits, *, plan: RenderPlan | None
    ) -> None:
        self._order = order if plan is None else _as_planned(order, plan)
        self._browser = browser
        self._limits = limits
        self._open = ExitStack()
        self._stage: AnyStage | None = None
        self._fallback_reason: str | None = None

    def __enter__(self) -> "ChainStages":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        # The stage hears of the error: it may know the cause.
        self._open.__exit__(kind, error, traceback)

    def at(self, frame: int) -> AnyStage:
        """Return a stage that can still show the frame."""
        if self._stage is None or self._stage.next_frame > frame:
            self._open.close()
            self._stage = self._open.enter_context(
                open_stage_for(
                    self._order,
                    self._browser,
                    self._limits,
                    fallback_reason=self._fallback_reason,
                )
            )
        return self._stage

    def without_raw(self, frame: int, reason: str) -> AnyStage:
        """Return a stage that takes screenshots, from now on."""
        self._fallback_reason = reason
        self._stage = None
        return self.at(frame)


def _as_planned(order: FilmOrder, plan: RenderPlan) -> FilmOrder:
    """All workers film the same thing: what the first one planned."""
    return replace(
        order,
        width_px=plan.size.width_px,
        height_px=plan.size.height_px,
        fps=plan.timeline.fps,
    )
