"""All that scheduling looks at, and what it changes. Values only.

Load a run under its lock, make a `RunState` of it, ask `scheduling`, and write what its
`Transitions` name: nothing else has changed.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from framekiln.pipelines.definition.windows import Window
from framekiln.pipelines.scheduling.status import RunStatus, StepStatus


class MediaState(StrEnum):
    """What there is of the run's file."""

    ARRIVING = "arriving"
    """Not all of it; windows may be complete."""
    WHOLE = "whole"
    FAILED = "failed"

    @classmethod
    def of_file(cls, file_status: str) -> "MediaState":
        """Return what a file's status (spec 3.2) means to a run."""
        return {"ready": cls.WHOLE, "failed": cls.FAILED}.get(file_status, cls.ARRIVING)


@dataclass(frozen=True)
class WindowState:
    """A window whose media is there."""

    window: Window
    status: StepStatus = StepStatus.PENDING


@dataclass(frozen=True)
class StepState:
    """A step of a run."""

    status: StepStatus = StepStatus.PENDING
    windows: tuple[WindowState, ...] = ()
    """Of a segment step, in order. Those up to the watermark may be left out."""
    has_all_windows: bool = False
    """Whether no more windows will come."""
    watermark_ms: int | None = None
    """Up to here, from the beginning of the file, every window of a segment step has succeeded."""

    @property
    def has_failed(self) -> bool:
        """Whether it has failed, or will as soon as its other windows have ended."""
        return self.status is StepStatus.FAILED or self.has_window(StepStatus.FAILED)

    def has_window(self, *statuses: StepStatus) -> bool:
        """Whether some window stands so."""
        return any(each.status in statuses for each in self.windows)


@dataclass(frozen=True)
class RunState:
    """A run, as scheduling sees it."""

    steps: Mapping[str, StepState]
    status: RunStatus = RunStatus.PENDING
    media: MediaState = MediaState.ARRIVING
    is_admitted: bool = True
    """Whether its batch lets it begin."""
    is_cancel_requested: bool = False


@dataclass(frozen=True)
class WorkItem:
    """What may start now: a step, or one window of a segment step."""

    step_key: str
    window: Window | None = None


@dataclass(frozen=True)
class Transitions:
    """What has to be written to bring a run from one state to the next."""

    before: RunState
    after: RunState

    def __bool__(self) -> bool:
        """Whether there is anything to write."""
        return self.before != self.after

    @property
    def run(self) -> RunStatus | None:
        """The new status of the run, if it has one."""
        return self.after.status if self.after.status is not self.before.status else None

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
        """The windows that are new or stand differently, by step."""
        changed = {
            key: _changed(self.before.steps[key].windows, step.windows)
            for key, step in self.after.steps.items()
        }
        return {key: windows for key, windows in changed.items() if windows}

    @property
    def watermarks_ms(self) -> dict[str, int]:
        """The watermarks that have moved."""
        return {
            key: step.watermark_ms
            for key, step in self.after.steps.items()
            if step.watermark_ms is not None
            and step.watermark_ms != self.before.steps[key].watermark_ms
        }

    @property
    def work(self) -> list[WorkItem]:
        """What has just become ready: each is to be enqueued once.

        A segment step that becomes ready is no work by itself; its windows are.
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
    known = set(before)
    return [each for each in after if each not in known]
