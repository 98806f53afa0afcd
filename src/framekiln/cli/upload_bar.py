"""The progress bar of an upload, on standard error."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn


class UploadBar:
    """A bar for the uploaded bytes, then for the processing."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._task = progress.add_task("uploading", total=None)

    def show_bytes(self, done: int, total: int) -> None:
        """Show the number of uploaded bytes."""
        self._progress.update(self._task, completed=done, total=total)

    def show_fraction(self, fraction: float) -> None:
        """Show the progress of processing."""
        total: Any = self._progress.tasks[self._task].total or 1
        self._progress.update(
            self._task, description="processing", completed=fraction * total, total=total
        )

    def print(self, text: str) -> None:
        """Write a line above the bar."""
        self._progress.console.print(text, markup=False)


@contextmanager
def upload_bar(quiet: bool) -> Iterator[UploadBar]:
    """Yield a bar that is shown during the block."""
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
    console = Console(stderr=True)
    with Progress(*columns, TransferSpeedColumn(), console=console, disable=quiet) as progress:
        yield UploadBar(progress)
