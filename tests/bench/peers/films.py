"""The film that is asked of each tool."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.bench.peers.cases import FPS, Case

PRESET: Final = "veryfast"
CRF: Final = 18


@dataclass(frozen=True)
class Film:
    """A case in one size and one length."""

    case: Case
    lines: int
    frames: int

    @property
    def width(self) -> int:
        """In pixels."""
        return self.case.size(self.lines)[0]

    @property
    def height(self) -> int:
        """In pixels."""
        return self.case.size(self.lines)[1]

    @property
    def seconds(self) -> float:
        """The length."""
        return self.frames / FPS


def write_page(folder: Path, html: str, media: Path) -> None:
    """Write a page with links to the media beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "index.html").write_text(html)
    for path in media.iterdir():
        link = folder / path.name
        if not link.exists():
            link.hardlink_to(path)
