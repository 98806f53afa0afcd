"""`make bench`: prints ratios measured in one run; nothing here passes or fails."""

import argparse
import json
import sys
from dataclasses import asdict

from rich.console import Console
from rich.table import Table

from framekiln.capture.page import FrameSize
from tests.bench.layers import measure_layers, print_layers
from tests.bench.pipelines import measure_pipelines, print_pipelines
from tests.bench.playback import measure_playback, print_playback
from tests.bench.renders import RenderRow, measure
from tests.bench.speech import measure_speech, print_speech

CASES = (
    ("animated", FrameSize(1280, 720)),
    ("animated", FrameSize(1920, 1080)),
    ("canvas", FrameSize(1280, 720)),
    ("titles", FrameSize(1280, 720)),
    ("titles", FrameSize(1920, 1080)),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--frames", type=int, default=300)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = [measure(name, size, frames=options.frames) for name, size in CASES]
    layered = measure_layers()
    spoken = measure_speech()
    played = measure_playback()
    run = measure_pipelines()
    if options.json:
        renders = [asdict(row) | {"ratio": row.ratio} for row in rows]
        layers = [asdict(row) | {"ratio": row.ratio} for row in layered]
        speech = [asdict(row) for row in spoken]
        playback = [asdict(row) for row in played]
        document = {"renders": renders, "layers": layers, "speech": speech, "playback": playback}
        document["pipelines"] = [asdict(row) for row in run]
        sys.stdout.write(json.dumps(document) + "\n")
        return
    _print_table(rows)
    print_layers(layered)
    print_speech(spoken)
    print_playback(played)
    print_pipelines(run)


def _print_table(rows: list[RenderRow]) -> None:
    table = Table(title="HTML to MP4, x264 veryfast crf 18, CPU milliseconds a frame")
    columns = ("page", "frames/s", "Chromium", "driver", "convert+encode", "whole")
    for column in (*columns, "encode only", "its frames/s", "whole / encode", "grabbing"):
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
        )
    Console(width=160).print(table)


if __name__ == "__main__":
    main()
