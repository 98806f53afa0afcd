"""The part of a run that scheduling reads and changes. Values only.

`StepState` and `WindowState` are base classes: the rows of a run (`model.run`) extend them with
what scheduling does not look at. The scheduler copies with `dataclasses.replace`, so the state of a
run exists once, and every other field passes through unchanged.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, Generic, TypeVar

from framekiln.pipelines.definition.windows import Window
from framekiln.pipelines.scheduling.status import RunStatus, StepStatus


class MediaState(StrEnum):
    """How much of the run's file is there."""

    ARRIVING = "arriving"
    """Part of it; windows may be complete."""
    WHOLE = "whole"
    FAILED = "failed"

    @classmethod
    def of_file(cls, file_status: str) -> "MediaState":
        """Return the media state for a file's status (spec 3.2)."""
        return {"ready": cls.WHOLE, "failed": cls.FAILED}.get(file_status, cls.ARRIVING)


@dataclass(frozen=True)
class WindowState:
    """A window of a segment step; its media is complete."""

    window: Window
    status: StepStatus = StepStatus.PENDING


@dataclass(frozen=True)
class StepState:
    """A step of a run."""

    window_type: ClassVar[type[WindowState]] = WindowState

    status: StepStatus = StepStatus.PENDING
    windows: tuple[WindowState, ...] = ()
    """Of a segment step, in order. Those up to the watermark may be left out."""
    has_all_windows: bool = False
    """Whether no more windows will come."""
    watermark_ms: int | None = None
    """Segment step: every window up to here has succeeded. Whole-file step: progress, display only.
    """

    @property
    def has_failed(self) -> bool:
        """Whether it has failed, or will when its other windows have ended."""
        return self.status is StepStatus.FAILED or self.has_window(StepStatus.FAILED)

    def has_window(self, *statuses: StepStatus) -> bool:
        """Whether any window has one of these statuses."""
        return any(each.status in statuses for each in self.windows)


StepT = TypeVar("StepT", bound=StepState)


@dataclass(frozen=True)
class RunState(Generic[StepT]):
    """A run, as scheduling sees it."""

    steps: Mapping[str, StepT]
    status: RunStatus = RunStatus.PENDING
    media: MediaState = MediaState.ARRIVING
    is_admitted: bool = True
    """Whether its batch allows it to start."""
    is_cancel_requested: bool = False


@dataclass(frozen=True)
class WorkItem:
    """A step, or one window of a segment step, that may start now."""

    step_key: str
    window: Window | None = None


@dataclass(frozen=True)
class Transitions(Generic[StepT]):
    """A run before and after one decision of the scheduler."""

    before: RunState[StepT]
    after: RunState[StepT]

    def __bool__(self) -> bool:
        """Whether anything has changed."""
        return self.before != self.after

    @property
    def steps(self) -> dict[str, StepStatus]:
        """The new statuses of steps that have one."""
        return {
            key: step.status
            for key, step in self.after.steps.items()
            if step.status is not self.before.steps[key].status
        }

    @property
    def windows(self) -> dict[str, list[WindowState]]:
        """The windows that are new or have a new status, by step."""
        changed = {
            key: _changed(self.before.steps[key].windows, step.windows)
            for key, step in self.after.steps.items()
        }
        return {key: windows for key, windows in changed.items() if windows}

    @property
    def work(self) -> list[WorkItem]:
        """The work that has just become ready; enqueue each item once.

        For a segment step the items are its windows, not the step.
        """
        steps = [WorkItem(key) for key in _ready(self.steps) if not self.after.steps[key].windows]
        windows = [
            WorkItem(key, each.window)
            for key, changed in self.windows.items()
            for each in changed
            if each.status is StepStatus.READY
        ]
        return steps + windows


def _ready(steps: Mapping[str, StepStatus]) -> list[str]:
    return [key for key, status in steps.items() if status is StepStatus.READY]


def _changed(before: tuple[WindowState, ...], after: tuple[WindowState, ...]) -> list[WindowState]:
    if before is after:
        return []
    known = {each.window.index: each.status for each in before}
    return [each for each in after if known.get(each.window.index) is not each.status]
