"""The compositions that all tools render, and the media they need."""

import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from tests.support.clips import write_picture

PAGES: Final = Path(__file__).parent / "pages"
FPS: Final = 30
MEDIA_S: Final = 12
VIDEO, AUDIO = "clip.mp4", "chord.m4a"
PICTURES: Final = ("picture-0.jpg", "picture-1.jpg")


@dataclass(frozen=True)
class Case:
    """A page with the media under it; if it has a script, `draw(seconds)` draws a frame."""

    name: str
    title: str
    video: str | None = None
    audio: str | None = None
    is_tall: bool = False

    @property
    def html(self) -> str:
        """Styles and markup."""
        return (PAGES / f"{self.name}.html").read_text()

    @property
    def script(self) -> str | None:
        """The source of its script."""
        path = PAGES / f"{self.name}.js"
        return path.read_text() if path.exists() else None

    def size(self, lines: int) -> tuple[int, int]:
        """Return width and height, by the number of lines of the wide format."""
        wide = lines * 16 // 9, lines
        return (wide[1], wide[0]) if self.is_tall else wide


CASES: Final = {
    case.name: case
    for case in (
        Case("titles", "titles, transform and opacity"),
        Case("footage", "1080p footage, lower third, captions", video=VIDEO),
        Case("slideshow", "slideshow with music", audio=AUDIO),
        Case("canvas", "canvas redrawn in each frame"),
        Case("webgl", "WebGL shader"),
        Case("chart", "data chart, SVG and numbers"),
        Case("story", "9:16 story, zoom and titles", is_tall=True),
    )
}


def make_media(folder: Path) -> Path:
    """Write a 1080p clip, music and two pictures; what exists is kept."""
    folder.mkdir(parents=True, exist_ok=True)
    noise = f"testsrc2=size=1920x1080:rate={FPS}:duration={MEDIA_S},noise=alls=3:allf=t"
    colours = [
        "-colorspace",
        "bt709",
        "-color_primaries",
        "bt709",
        "-color_trc",
        "bt709",
        "-color_range",
        "tv",
    ]
    x264 = ["-c:v", "libx264", "-preset", "fast", "-crf", "20", "-pix_fmt", "yuv420p", "-g", "60"]
    _ffmpeg(folder / VIDEO, ["-f", "lavfi", "-i", noise, *x264, *colours])
    _ffmpeg(folder / AUDIO, ["-f", "lavfi", "-i", _music(), "-c:a", "aac", "-b:a", "128k"])
    for number, name in enumerate(PICTURES):
        if not (folder / name).exists():
            write_picture(folder / name, _picture(number))
    return folder


def _music() -> str:
    """Return a chord that is struck twice a second: encoders take much longer for a pure tone."""
    tones = "+".join(f"sin(2*PI*{hertz}*t)" for hertz in (220, 277, 330, 440, 554))
    noise = "0.02*(random(0)-0.5)"
    return f"aevalsrc=0.1*exp(-4*mod(t\\,0.5))*({tones})+{noise}:d={MEDIA_S}:s=48000"


def _ffmpeg(path: Path, arguments: list[str]) -> None:
    if path.exists():
        return
    unfinished = path.with_name(f"unfinished-{path.name}")
    command = ["ffmpeg", "-y", "-loglevel", "error", *arguments, str(unfinished)]
    subprocess.run(command, check=True)
    unfinished.rename(path)


def _picture(number: int) -> np.ndarray:
    """Return a smooth pattern that has detail everywhere, as photographs have."""
    ys, xs = np.mgrid[:1080, :1920]
    waves = [
        128 + 100 * np.sin(xs / (40 + 20 * number) + c) * np.cos(ys / (60 + 9 * number))
        for c in range(3)
    ]
    return np.stack(waves, axis=-1).astype(np.uint8)
