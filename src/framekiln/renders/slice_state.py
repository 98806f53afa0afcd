"""The slices of a render, for its owner: their state, how they were made, and when."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    # The api has this module, too, and no Chromium.
    from framekiln.capture.page_session import ConsoleEntry

_MAX_LINES: Final = 100
_MAX_LINE_CHARS: Final = 500


@dataclass(frozen=True)
class RenderSlice:
    """One slice of a render."""

    number: int
    first_frame: int
    frame_count: int
    status: str
    """`todo`, `taken` or `done`."""
    attempt: int
    """How many workers have taken it."""
    frames_done: int
    taken_at: datetime | None
    """By the last worker."""
    finished_at: datetime | None
    record: dict[str, Any]
    console: list[dict[str, str]]

    @property
    def method(self) -> str | None:
        """How its frames were made; None until they are."""
        if self.status != "done":
            return None
        if self.record.get("reused"):
            return "copied"
        return "composed" if self.record.get("composed_frames") else "captured"

    @property
    def reason(self) -> str | None:
        """Why a slower method was used, if one was."""
        return self.record.get("fallback_reason") or self.record.get("filmed_reason")


def new_console_lines(
    before: Sequence["ConsoleEntry"], after: Sequence["ConsoleEntry"]
) -> list[dict[str, str]]:
    """Return the lines that were written since `before`, as JSON; the last ones if many."""
    is_continued = list(after[: len(before)]) == list(before)
    added = after[len(before) :] if is_continued else after
    return [
        {"level": entry.level, "text": entry.text[:_MAX_LINE_CHARS].replace("\x00", "")}
        for entry in added[-_MAX_LINES:]
    ]
