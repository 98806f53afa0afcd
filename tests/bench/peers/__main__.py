"""`make bench-peers`: the same films by Framekiln, Remotion and HyperFrames, in one run.

Prints figures; nothing here passes or fails. A tool that cannot be installed is named and left out.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from rich.console import Console
from rich.table import Table

from framekiln.engine.film_order import MIN_COMPOSED_FRAMES
from tests.bench.peers.baseline import encode_frames, frames_of, transcode
from tests.bench.peers.cases import CASES, Case, make_media
from tests.bench.peers.films import CRF, PRESET, Film
from tests.bench.peers.process import ProgramFailed, Usage
from tests.bench.peers.report import (
    HEADINGS,
    OURS,
    FilmCost,
    PeerRow,
    markdown_of,
    notes_of,
    table_of,
)
from tests.bench.peers.tools import TOOLS, Tool
from tests.support.frame_codes import Picture
from tests.support.looks import iter_frames, ssim

ROOT: Final = Path(__file__).parents[3] / "build" / "peers"
SIZES: Final = (720, 1080)
# Shorter films are always filmed by default: both have to be made one way.
SHORT_FRAMES, LONG_FRAMES = MIN_COMPOSED_FRAMES, 300
COMPARED: Final = (0.0, 0.4, 0.8, 1.0)
"""Where in the film pictures are compared."""

console = Console(stderr=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"of {', '.join(CASES)}")
    parser.add_argument("--sizes", type=int, nargs="+", choices=SIZES, default=SIZES)
    parser.add_argument("--frames", type=int, default=LONG_FRAMES, help="of the long film")
    parser.add_argument("--folder", type=Path, default=ROOT, help="where peers are installed")
    names = [kind.name for kind in TOOLS]
    parser.add_argument("--tools", nargs="+", choices=names, default=names)
    parser.add_argument("--form", choices=("table", "markdown", "json"), default="table")
    options = parser.parse_args()
    if unknown := [name for name in options.cases if name not in CASES]:
        parser.error(f"no such case: {', '.join(unknown)}; there are {', '.join(CASES)}")
    if not options.frames > SHORT_FRAMES:
        parser.error(f"--frames must be more than {SHORT_FRAMES}, the length of the short film")
    comparison = Comparison(options.folder.resolve(), options.frames)
    notes = comparison.install(options.tools)
    rows: list[PeerRow] = []
    try:
        for lines in options.sizes:
            for name in options.cases or CASES:
                console.print(f"{name} {lines}p", style="dim")
                rows += comparison.rows(CASES[name], lines)
    except KeyboardInterrupt:
        notes.append("interrupted: films are missing")
    show(rows, [*notes, *notes_of(rows)], form=options.form)


def show(rows: Sequence[PeerRow], notes: Sequence[str], *, form: str) -> None:
    if form == "json":
        document = {"rows": [asdict(row) for row in rows], "notes": notes}
        sys.stdout.write(json.dumps(document) + "\n")
        return
    if form == "markdown":
        sys.stdout.write(markdown_of(rows))
    else:
        table = Table(title=f"The same films, x264 {PRESET} crf {CRF}")
        for heading in HEADINGS:
            table.add_column(heading, justify="left" if heading in HEADINGS[:2] else "right")
        for cells in table_of(rows):
            table.add_row(*cells, end_section=cells[1] == TOOLS[-1].name)
        Console(width=180).print(table)
    sys.stdout.writelines(f"{note}\n" for note in notes)


class Comparison:
    """The tools, and the films that they make."""

    def __init__(self, folder: Path, frames: int) -> None:
        self._folder = folder
        self._frames = frames
        self._media = make_media(folder / "media")
        self._tools: list[Tool] = []

    def install(self, names: Sequence[str]) -> list[str]:
        """Install what can be installed; return what was, and what was not."""
        notes = []
        for kind in (each for each in TOOLS if each.name in names):
            tool = kind(self._folder / kind.name.lower().replace(", ", "-"), self._media)
            console.print(f"installing {tool.name}", style="dim")
            try:
                notes.append(f"{tool.name} {tool.install()}")
                self._tools.append(tool)
            except (ProgramFailed, OSError) as error:
                notes.append(f"{tool.name} could not be installed: {error}")
        return notes

    def rows(self, case: Case, lines: int) -> Iterator[PeerRow]:
        """Make one film with all tools; the first row is what none can do without."""
        name = f"{case.name} {lines}p"
        ours: dict[int, Picture] = {}
        rows = []
        for tool in self._tools:
            if not tool.can_render(case):
                continue
            output = self._folder / f"{tool.name.lower()}.mp4"
            try:
                cost = self._cost(case, lines, partial(tool.render, output=output))
            except ProgramFailed as error:
                rows.append(PeerRow(name, tool.name, None, failure=str(error)))
                continue
            pictures = self._pictures(output)
            ours = pictures if tool.name == OURS else ours
            rows.append(PeerRow(name, tool.name, cost, _likeness(ours, pictures, tool.name)))
        yield from self._baselines(case, lines, name)
        yield from rows

    def _baselines(self, case: Case, lines: int, name: str) -> Iterator[PeerRow]:
        out = self._folder / "baseline.mp4"
        page = self._folder / OURS.lower() / case.name
        if case.video is not None:
            clip = self._media / case.video
            cost = self._cost(case, lines, lambda film: transcode(clip, film, out))
            yield PeerRow(name, "decode + encode", cost, is_baseline=True)
            return
        with TemporaryDirectory(prefix="framekiln-bench-") as scratch:
            frames = frames_of(Film(case, lines, self._frames), page, Path(scratch))
        sound = self._media / case.audio if case.audio else None
        cost = self._cost(case, lines, lambda film: encode_frames(frames, film, sound, out))
        yield PeerRow(name, "encode only", cost, is_baseline=True)

    def _cost(self, case: Case, lines: int, make: Callable[[Film], Usage]) -> FilmCost:
        lengths = (SHORT_FRAMES, self._frames)
        short, long = (make(Film(case, lines, frames)) for frames in lengths)
        return FilmCost(short, long, *lengths)

    def _pictures(self, path: Path) -> dict[int, Picture]:
        wanted = {round(part * (self._frames - 1)) for part in COMPARED}
        frames = enumerate(iter_frames(path))
        return {number: frame.rgb for number, frame in frames if number in wanted}


def _likeness(ours: dict[int, Picture], theirs: dict[int, Picture], maker: str) -> float | None:
    """Return the least likeness of the compared frames; 0 if a film lacks one of them."""
    if maker == OURS or not ours:
        return None
    if ours.keys() != theirs.keys():
        return 0.0
    return min(ssim(picture, theirs[number]) for number, picture in ours.items())


if __name__ == "__main__":
    main()
