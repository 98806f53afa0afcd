"""What is to be redacted: a file, boxes along keyframes, and spans of sound. Values only."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from framekiln.kit.ids import FileId


@dataclass(frozen=True)
class Redaction:
    """An order as it is kept with its render, and handed on to who carries it out.

    A box has `start_ms`, `end_ms` and `keyframes` (`t_ms`, `x`, `y`, `w`, `h`), a mute `start_ms`
    and `end_ms`.
    """

    file_id: FileId
    boxes: Sequence[Mapping[str, Any]]
    mutes: Sequence[Mapping[str, Any]]

    def to_json(self) -> dict[str, Any]:
        """Return the order as it is kept."""
        return {
            "file_id": str(self.file_id),
            "boxes": [dict(box) for box in self.boxes],
            "mutes": [dict(mute) for mute in self.mutes],
        }

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> "Redaction":
        """Read what `to_json` wrote."""
        return cls(FileId(UUID(kept["file_id"])), kept["boxes"], kept["mutes"])
