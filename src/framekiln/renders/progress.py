"""Progress from film threads to the database: a few times a second, and never in the way."""

from framekiln.jobs.reports import Reports
from framekiln.renders.slices.store import TakenSlice
from framekiln.renders.work import RenderWork


class ProgressReports(Reports[tuple[TakenSlice, int]]):
    """Written by a film thread, passed on by a task of the event loop."""

    def __init__(self, work: RenderWork) -> None:
        super().__init__(lambda now: work.report(now[0], frames_done=now[1]))

    def set(self, taken: TakenSlice, frames_done: int) -> None:
        """Note how far a slice is."""
        self.note((taken, frames_done))
