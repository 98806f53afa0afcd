"""Memory and processor time over a long film: neither may grow with what was made before.

`python -m tests.bench.long_film` makes 30 minutes of 1080p; `--seconds` and `--height` make less.
It prints memory and cost in each part of the film, and how cost follows frames and pixels.
"""

import argparse
import tempfile
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from framekiln.capture.browser import Browser, open_browser
from framekiln.capture.page import FrameSize
from framekiln.engine.film import make_film
from framekiln.engine.film_order import FilmLimits, FilmOrder, PageMethod
from tests.bench.cpu import process_cpu_s, process_tree_cpu_s, tree_of

FPS = 30
SCENE_S = 8
PARTS = 12
# Each scene has drawings of its own; a group fades in, and a box turns.
_STYLE = """<style>
  section { width: 100%; height: 100%; position: absolute; inset: 0; animation: enter 1s both;
    background: linear-gradient(120deg, #123, #357); color: #fff; font: 700 6vw "DejaVu Sans" }
  h1 { position: absolute; left: 8%; top: 30%; margin: 0; font-size: 1em;
    animation: slide 2s ease-out both }
  i { position: absolute; right: 10%; bottom: 12%; width: 18%; height: 30%; background: #f80;
    animation: turn 8s linear both }
  @keyframes enter { from { opacity: 0 } }
  @keyframes slide { from { transform: translateX(-20%) } }
  @keyframes turn { to { rotate: 90deg } }</style>"""


@dataclass(frozen=True)
class Sample:
    """The state at one moment of a film."""

    frames: int
    cpu_s: float
    own_mib: float
    chromium_mib: float


def film_page(seconds: int, size: FrameSize) -> str:
    """Return a page with one scene after the other."""
    box = f"width:{size.width_px}px;height:{size.height_px}px;background:#000"
    scenes = "".join(
        f'<ef-timegroup mode="fixed" duration="{min(SCENE_S, seconds - at)}s">'
        f"<section><h1>Scene {at // SCENE_S}</h1><i></i></section></ef-timegroup>"
        for at in range(0, seconds, SCENE_S)
    )
    return (
        f'{_STYLE}<ef-timegroup mode="sequence" fps="{FPS}" style="{box}">{scenes}</ef-timegroup>'
    )


def measure(
    browser: Browser, seconds: int, size: FrameSize, method: PageMethod
) -> tuple[list[Sample], int]:
    """Make a film; return samples of it, and how many frames were composed."""
    samples = [_sample(browser, 0)]
    every = max(1, seconds * FPS // PARTS)

    def report(done: int, count: int) -> None:
        if done % every == 0 or done == count:
            samples.append(_sample(browser, done))

    order = FilmOrder(film_page(seconds, size), size.width_px, size.height_px, page_method=method)
    limits = FilmLimits(settle_s=300, frame_s=300, whole_s=24 * 3600)
    with tempfile.TemporaryDirectory() as folder:
        film = make_film(order, browser, Path(folder) / "film.mp4", limits=limits, report=report)
    return samples, film.record.composed_frames


def _sample(browser: Browser, frames: int) -> Sample:
    cpu_s = process_cpu_s() + process_tree_cpu_s(browser.pid)
    chromium = sum(_resident_mib(pid) for pid in tree_of(browser.pid))
    return Sample(frames, cpu_s, _resident_mib("self"), chromium)


def _resident_mib(pid: int | str) -> float:
    """Return the memory of a process; what it shares counts in part."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


def print_samples(title: str, samples: list[Sample]) -> None:
    """Print memory and cost in each part of a film."""
    table = Table(title=title)
    for column in ("frames", "driver MiB", "Chromium MiB", "CPU ms a frame since the row above"):
        table.add_column(column, justify="right")
    for before, now in zip([samples[0], *samples], samples, strict=False):
        made = now.frames - before.frames
        cost = f"{(now.cpu_s - before.cpu_s) * 1000 / made:.1f}" if made else ""
        table.add_row(f"{now.frames}", f"{now.own_mib:.0f}", f"{now.chromium_mib:.0f}", cost)
    Console(width=120).print(table)


def cost_ms(samples: list[Sample]) -> float:
    """Return the processor time of a frame, once the film has begun."""
    first, last = samples[1], samples[-1]
    return (last.cpu_s - first.cpu_s) * 1000 / (last.frames - first.frames)


def main() -> None:
    """Measure a film, a quarter of it, and that quarter with a quarter of the pixels."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=1800)
    parser.add_argument("--height", type=int, default=1080)
    parser.add_argument("--method", type=PageMethod, default=PageMethod.COMPOSED)
    asked = parser.parse_args()
    size = _size(asked.height)
    short_s = max(PARTS, asked.seconds // 4)
    with open_browser() as browser:
        long, composed = measure(browser, asked.seconds, size, asked.method)
        short, _ = measure(browser, short_s, size, asked.method)
        small, _ = measure(browser, short_s, _size(asked.height // 2), asked.method)
    print_samples(
        f"{asked.seconds} s of {size.width_px}x{size.height_px}, {composed} frames composed", long
    )
    shares = (cost_ms(long) / cost_ms(short), cost_ms(small) / cost_ms(short))
    Console(width=120).print(
        f"a frame of {asked.seconds} s costs {shares[0]:.2f} of one of {short_s} s; with a quarter"
        f" of the pixels, {shares[1]:.2f}"
    )


def _size(height: int) -> FrameSize:
    return FrameSize(2 * round(height * 8 / 9), 2 * round(height / 2))


if __name__ == "__main__":
    main()
