"""Memory and processor time over a long film: neither may grow with what was made before.

`python -m tests.bench.long_film` makes 30 minutes of 1080p; `--seconds`, `--height` and `--fps`
make less, `--footage` puts one long clip below the scenes. It prints memory and cost in each tenth
of the film; `--pixels` makes short films of three sizes, too, and prints how cost follows pixels.
"""

import argparse
import os
import subprocess
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console
from rich.table import Table

from framekiln.capture.browser import Browser, open_browser
from framekiln.capture.page import FrameSize
from framekiln.engine.assets import NoAssets
from framekiln.engine.film import make_film
from framekiln.engine.film_order import FilmLimits, FilmOrder, PageMethod
from framekiln.engine.site import Site, SiteAssets
from tests.bench.cpu import process_tree_cpu_s, tree_of

MIN_SCENE_S = 8
MAX_SCENES = 40  # With more than 150 layers, a page is always filmed.
PARTS = 10
SAMPLES_OF_A_PART = 10
CLIP_S = 20
HEIGHTS = (360, 720, 1080)
# Each scene has drawings of its own; a group fades in, and a box turns.
_STYLE = """<style>
  section { width: 100%; height: 100%; position: absolute; inset: 0; animation: enter 1s both;
    background: linear-gradient(120deg, #123, #357); color: #fff; font: 700 6vw "DejaVu Sans" }
  h1 { position: absolute; left: 8%; top: 30%; margin: 0; font-size: 1em;
    animation: slide 2s ease-out both }
  i { position: absolute; right: 10%; bottom: 12%; width: 18%; height: 30%; background: #f80;
    animation: turn 40s linear both }
  @keyframes enter { from { opacity: 0 } }
  @keyframes slide { from { transform: translateX(-20%) } }
  @keyframes turn { to { rotate: 90deg } }</style>"""
_OVER_FOOTAGE = """<style>
  ef-video { position: absolute; inset: 0; width: 100%; height: 100%; object-fit: cover }
  section { background: none }</style>"""


@dataclass(frozen=True)
class Film:
    """What is made."""

    seconds: int
    size: FrameSize
    fps: int
    method: PageMethod
    has_footage: bool

    @property
    def title(self) -> str:
        """Its title in tables."""
        footage = " over footage" if self.has_footage else ""
        return (
            f"{self.seconds} s of {self.size.width_px}x{self.size.height_px} at {self.fps} fps"
            f"{footage}, {self.method}"
        )

    def page(self) -> str:
        """Return a page with one scene after the other."""
        box = f"width:{self.size.width_px}px;height:{self.size.height_px}px;background:#000"
        scene_s = max(MIN_SCENE_S, -(-self.seconds // MAX_SCENES))
        scenes = "".join(
            f'<ef-timegroup mode="fixed" duration="{min(scene_s, self.seconds - at)}s">'
            f"<section><h1>Scene {at // scene_s}</h1><i></i></section></ef-timegroup>"
            for at in range(0, self.seconds, scene_s)
        )
        scenes = f'<ef-timegroup mode="sequence">{scenes}</ef-timegroup>'
        footage = '<ef-video src="/clip.mp4" muted></ef-video>' if self.has_footage else ""
        style = _STYLE + (_OVER_FOOTAGE if self.has_footage else "")
        return (
            f'{style}<ef-timegroup mode="fixed" duration="{self.seconds}s" fps="{self.fps}"'
            f' style="{box}">{footage}{scenes}</ef-timegroup>'
        )


@dataclass(frozen=True)
class Sample:
    """The state at one moment of a film."""

    frames: int
    cpu_s: float
    own_mib: float
    chromium_mib: float
    others_mib: float
    """Memory of decoders, and of all other children."""

    @property
    def all_mib(self) -> float:
        """Memory of everything that makes the film."""
        return self.own_mib + self.chromium_mib + self.others_mib


def measure(browser: Browser, film: Film) -> tuple[list[Sample], int]:
    """Make a film; return samples of it, and how many frames were composed."""
    samples = [_sample(browser, 0)]
    every = max(1, film.seconds * film.fps // (PARTS * SAMPLES_OF_A_PART))

    def report(done: int, count: int) -> None:
        if done % every == 0 or done == count:
            samples.append(_sample(browser, done))

    limits = FilmLimits(settle_s=300, frame_s=300, whole_s=24 * 3600)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if film.has_footage:
            _make_clip(folder, film)
        order = FilmOrder(
            film.page(),
            film.size.width_px,
            film.size.height_px,
            page_method=film.method,
            site=Site(folder),
            assets=SiteAssets(Site(folder), NoAssets()),
        )
        made = make_film(order, browser, folder / "film.mp4", limits=limits, report=report)
    return samples, made.record.composed_frames


def _make_clip(folder: Path, film: Film) -> None:
    """Write a clip as long as the film: its first part is repeated without encoding it again."""
    source = (
        f"testsrc2=size={film.size.width_px}x{film.size.height_px}:rate={film.fps}"
        f":duration={CLIP_S},noise=alls=3:allf=t"
    )
    x264 = ["-c:v", "libx264", "-preset", "veryfast", "-crf", "23", "-pix_fmt", "yuv420p"]
    part, clip = str(folder / "part.mp4"), str(folder / "clip.mp4")
    _ffmpeg("-f", "lavfi", "-i", source, *x264, part)
    times = -(-film.seconds // CLIP_S) - 1
    _ffmpeg("-stream_loop", str(times), "-i", part, "-c", "copy", "-movflags", "faststart", clip)


def _ffmpeg(*arguments: str) -> None:
    subprocess.run(["ffmpeg", "-y", "-loglevel", "error", *arguments], check=True)


def _sample(browser: Browser, frames: int) -> Sample:
    chromium = tree_of(browser.pid)
    own, others = os.getpid(), set(tree_of(os.getpid())) - {os.getpid(), *chromium}
    memory = (sum(map(_resident_mib, pids)) for pids in ((own,), chromium, others))
    return Sample(frames, process_tree_cpu_s(own), *memory)


def _resident_mib(pid: int) -> float:
    """Return the memory of a process; what it shares counts in part."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


def print_samples(title: str, samples: list[Sample]) -> None:
    """Print the largest memory and the cost in each tenth of a film."""
    table = Table(title=title)
    for column in ("frames", "driver MiB", "Chromium MiB", "children MiB", "all MiB", "CPU ms"):
        table.add_column(column, justify="right")
    count, before = samples[-1].frames, samples[0]
    for part in range(1, PARTS + 1):
        end = count * part / PARTS
        those = [each for each in samples if before.frames < each.frames <= end]
        if not those:
            continue
        memory = (
            max(getattr(each, name) for each in those)
            for name in ("own_mib", "chromium_mib", "others_mib", "all_mib")
        )
        cost = (those[-1].cpu_s - before.cpu_s) * 1000 / (those[-1].frames - before.frames)
        table.add_row(f"{those[-1].frames}", *(f"{mib:.0f}" for mib in memory), f"{cost:.1f}")
        before = those[-1]
    Console(width=120).print(table)


def cost_ms(samples: list[Sample]) -> float:
    """Return the processor time of a frame, once the film has begun."""
    last = samples[-1]
    first = next(each for each in samples if each.frames >= last.frames // PARTS)
    return (last.cpu_s - first.cpu_s) * 1000 / (last.frames - first.frames)


def main() -> None:
    """Measure a film; if asked for, a short one in three sizes, too."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=1800)
    parser.add_argument("--height", type=int, default=1080)
    parser.add_argument("--fps", type=int, default=30)
    parser.add_argument("--method", type=PageMethod, default=PageMethod.COMPOSED)
    parser.add_argument("--footage", action="store_true")
    parser.add_argument("--pixels", type=int, default=0, metavar="SECONDS")
    asked = parser.parse_args()
    film = Film(asked.seconds, _size(asked.height), asked.fps, asked.method, asked.footage)
    console = Console(width=120)
    with open_browser() as browser:
        samples, composed = measure(browser, film)
        print_samples(f"{film.title}: {composed} frames composed", samples)
        for height in HEIGHTS if asked.pixels else ():
            size = _size(height)
            short, _ = measure(browser, replace(film, seconds=asked.pixels, size=size))
            each, megapixels = cost_ms(short), size.width_px * size.height_px / 1e6
            console.print(
                f"{height} lines: {each:.1f} ms a frame, {each / megapixels:.1f} for a megapixel"
            )


def _size(height: int) -> FrameSize:
    return FrameSize(2 * round(height * 8 / 9), 2 * round(height / 2))


if __name__ == "__main__":
    main()
