"""`make bench`: prints ratios measured in one run; only hostile neighbours can make it fail."""

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.table import Table

from framekiln.capture.page import FrameSize
from framekiln.engine.film_order import PageMethod
from tests.bench.api import measure_api, print_api
from tests.bench.bulk import measure_bulk, print_bulk
from tests.bench.composed import measure_composed, print_composed
from tests.bench.dashboards import measure_dashboards, print_dashboards
from tests.bench.layers import measure_layers, print_layers
from tests.bench.neighbours import measure_neighbours, print_neighbours, slow_neighbours
from tests.bench.pipelines import measure_pipelines, print_pipelines
from tests.bench.playback import measure_playback, print_playback
from tests.bench.presets import measure_presets, print_presets
from tests.bench.renders import RenderRow, measure
from tests.bench.speech import measure_speech, print_speech

CASES = (
    ("animated", FrameSize(1280, 720), PageMethod.FILMED),
    ("animated", FrameSize(1920, 1080), PageMethod.FILMED),
    ("canvas", FrameSize(1280, 720), PageMethod.FILMED),
    ("titles", FrameSize(1280, 720), PageMethod.FILMED),
    ("titles", FrameSize(1920, 1080), PageMethod.FILMED),
    ("motion", FrameSize(1280, 720), PageMethod.FILMED),
    ("motion", FrameSize(1280, 720), PageMethod.COMPOSED),
    ("motion", FrameSize(1920, 1080), PageMethod.FILMED),
    ("motion", FrameSize(1920, 1080), PageMethod.COMPOSED),
)


def print_renders(rows: list[RenderRow]) -> None:
    table = Table(title="HTML to MP4, x264 veryfast crf 18, CPU milliseconds a frame")
    columns = ("page", "frames/s", "Chromium", "driver", "convert+encode", "whole")
    more = ("encode only", "its frames/s", "whole / encode", "grabbing", "composed")
    for column in (*columns, *more):
        table.add_column(column, justify="left" if column in ("page", "grabbing") else "right")
    for row in rows:
        table.add_row(
            row.name,
            f"{row.wall_fps:.1f}",
            f"{row.chromium_ms:.1f}",
            f"{row.driver_ms:.1f}",
            f"{row.encoder_ms:.1f}",
            f"{row.whole_ms:.1f}",
            f"{row.encode_only_ms:.1f}",
            f"{row.encode_only_fps:.1f}",
            f"{row.ratio:.2f}x",
            row.grabbing,
            f"{row.composed_frames}",
        )
    Console(width=160).print(table)


GROUPS: dict[str, tuple[Callable[[int], list[Any]], Callable[[list[Any]], None]]] = {
    "renders": (
        lambda frames: [measure(*case, frames=frames) for case in CASES],
        print_renders,
    ),
    "composed": (lambda _frames: measure_composed(), print_composed),
    "layers": (lambda _frames: measure_layers(), print_layers),
    "speech": (lambda _frames: measure_speech(), print_speech),
    "playback": (lambda _frames: measure_playback(), print_playback),
    "pipelines": (lambda _frames: measure_pipelines(), print_pipelines),
    "api": (lambda _frames: measure_api(), print_api),
    "bulk": (lambda _frames: measure_bulk(), print_bulk),
    "presets": (lambda _frames: measure_presets(), print_presets),
    "dashboards": (lambda _frames: measure_dashboards(), print_dashboards),
    "neighbours": (lambda _frames: measure_neighbours(), print_neighbours),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("groups", nargs="*", metavar="GROUP", help=f"of {', '.join(GROUPS)}")
    parser.add_argument("--frames", type=int, default=300)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if unknown := [name for name in options.groups if name not in GROUPS]:
        parser.error(f"no such group: {', '.join(unknown)}; there are {', '.join(GROUPS)}")
    found = {
        name: measure_group(options.frames)
        for name, (measure_group, _) in GROUPS.items()
        if name in options.groups or not options.groups
    }
    if options.json:
        document = {name: [_as_json(row) for row in rows] for name, rows in found.items()}
        sys.stdout.write(json.dumps(document) + "\n")
    else:
        for name, rows in found.items():
            GROUPS[name][1](rows)
    slow = slow_neighbours(found.get("neighbours", []))
    if slow:
        sys.stderr.write(f"too slow beside {'; '.join(slow)}\n")
    return 1 if slow else 0


def _as_json(row: Any) -> dict[str, Any]:
    return asdict(row) | ({"ratio": row.ratio} if hasattr(row, "ratio") else {})


if __name__ == "__main__":
    sys.exit(main())
