"""How fast layers become a film, beside doing nothing but decoding and encoding the same clip.

The slideshow and the crossfade stand beside a graph of FFmpeg's own filters with the same encoder
settings.
"""

import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import av
import numpy as np
from rich.console import Console
from rich.table import Table

from framekiln.capture.browser import Browser, open_browser
from framekiln.composition.layers import read_config
from framekiln.engine.film import make_film
from framekiln.engine.film_order import FilmOrder
from framekiln.media.encode.film_encoder import VideoSettings, configure_video
from tests.bench.cpu import process_tree_cpu_s
from tests.support.clips import write_picture
from tests.support.local_assets import MEDIA_ORIGIN, LocalAssets

WIDTH, HEIGHT, FPS = 1920, 1080, Fraction(30)
SECONDS = 4


@dataclass(frozen=True)
class LayerRow:
    """One case beside its measure; seconds of processor time and of the clock."""

    name: str
    cpu_s: float
    wall_s: float
    baseline: str
    baseline_cpu_s: float
    baseline_wall_s: float

    @property
    def ratio(self) -> float:
        """Our processor time over the other's."""
        return self.cpu_s / self.baseline_cpu_s


def measure_layers() -> list[LayerRow]:
    """Make each film once after a warm start, and its measure in the same run."""
    with tempfile.TemporaryDirectory() as name, open_browser() as browser:
        folder = Path(name)
        bench = _LayerBenchmark(browser, LocalAssets(folder, _makers()), folder)
        bench.film(_promo(seconds=1))
        clip = bench.assets.fetch(MEDIA_ORIGIN + "clip.mp4").path
        graphs = (_xfade_of_videos(clip), _xfade_of_pictures(bench.assets))
        plain = "decode + encode", lambda: _transcode(clip, folder / "plain.mp4")
        silent = "pictures alone", lambda: _transcode(clip, folder / "plain.mp4", has_sound=False)
        videos = "ffmpeg xfade", lambda: _ffmpeg(folder, graphs[0])
        pictures = "ffmpeg xfade", lambda: _ffmpeg(folder, graphs[1])
        return [
            bench.row("video, logo, text, music 1080p", _promo(), plain),
            bench.row("the same", _promo(), silent),
            bench.row("crossfade of two videos 1080p", _crossfade(), videos),
            bench.row("slideshow of four pictures 1080p", _slideshow(), pictures),
        ]


def print_layers(rows: list[LayerRow]) -> None:
    """Write the table."""
    table = Table(title=f"Layers to MP4, {SECONDS} s, x264 veryfast crf 18, processor seconds")
    for column in ("film", "ours", "clock", "beside", "theirs", "clock", "ours / theirs"):
        table.add_column(column)
    for row in rows:
        table.add_row(
            row.name,
            f"{row.cpu_s:.2f}",
            f"{row.wall_s:.2f}",
            row.baseline,
            f"{row.baseline_cpu_s:.2f}",
            f"{row.baseline_wall_s:.2f}",
            f"{row.ratio:.2f}x",
        )
    Console(width=160).print(table)


@dataclass(frozen=True)
class _LayerBenchmark:
    browser: Browser
    assets: LocalAssets
    folder: Path

    def film(self, config: dict[str, Any]) -> None:
        order = FilmOrder(layers=read_config(config).config, assets=self.assets)
        make_film(order, self.browser, self.folder / "out.mp4")

    def row(
        self, name: str, config: dict[str, Any], other: tuple[str, Callable[[], None]]
    ) -> LayerRow:
        beside, theirs = other
        measured = self._timed(theirs)
        return LayerRow(name, *self._timed(lambda: self.film(config)), beside, *measured)

    def _timed(self, work: Callable[[], object]) -> tuple[float, float]:
        cpu, wall = self._cpu_s(), time.perf_counter()
        work()
        return self._cpu_s() - cpu, time.perf_counter() - wall

    def _cpu_s(self) -> float:
        """This process and everything below it: decoders in confined children, Chromium."""
        return process_tree_cpu_s(os.getpid())


def _promo(seconds: int = SECONDS) -> dict[str, Any]:
    style = {"text": "A title over the film", "fontSize": 80, "backgroundColor": "#00000080"}
    return {
        "dimensions": {"width": WIDTH, "height": HEIGHT},
        "duration": seconds,
        "layers": [
            {"type": "video", "file": MEDIA_ORIGIN + "clip.mp4"},
            {"type": "image", "file": MEDIA_ORIGIN + "logo.png", "position": {"x": 1640, "y": 60}},
            {
                "type": "text",
                "text": style,
                "position": {"x": "center", "y": 850},
                "transitions": [{"type": "fadeIn", "duration": 1}],
            },
            {"type": "audio", "file": MEDIA_ORIGIN + "music.m4a", "audio": {"volume": 0.5}},
        ],
    }


def _crossfade() -> dict[str, Any]:
    half = SECONDS // 2
    clip = {"type": "video", "file": MEDIA_ORIGIN + "clip.mp4", "audio": {"volume": 0}}
    return {
        "dimensions": {"width": WIDTH, "height": HEIGHT},
        "layers": [
            {
                **clip,
                "trim": {"end": half + 1},
                "transitions": [{"type": "crossfadeOut", "duration": 2}],
            },
            {
                **clip,
                "trim": {"start": 1, "end": half + 2},
                "timeline": {"start": half - 1},
                "transitions": [{"type": "crossfadeIn", "duration": 2}],
            },
        ],
    }


def _slideshow() -> dict[str, Any]:
    pictures = [
        {
            "type": "image",
            "file": f"{MEDIA_ORIGIN}{n}.png",
            "size": {"format": "stretch"},
            "trim": {"end": 1.75},
            "timeline": {"start": n * 0.75},
            "transitions": [
                {"type": "crossfadeIn", "duration": 1},
                {"type": "crossfadeOut", "duration": 1},
            ],
        }
        for n in range(4)
    ]
    return {"dimensions": {"width": WIDTH, "height": HEIGHT}, "layers": pictures}


def _transcode(clip: Path, out: Path, *, has_sound: bool = True) -> None:
    """The least that any renderer must do: decode and encode each picture, and the sound."""
    settings = VideoSettings(WIDTH, HEIGHT, FPS)
    with av.open(clip) as source, av.open(out, "w") as target:
        pictures = target.add_stream("libx264", rate=FPS)
        configure_video(pictures.codec_context, settings)
        sound = target.add_stream("aac", rate=48_000) if has_sound else None
        source.streams.video[0].thread_type = "AUTO"
        resampler = av.AudioResampler(format="fltp", layout="stereo", rate=48_000)
        number = 0
        wanted = {"video": 0, "audio": 0} if sound else {"video": 0}
        for frame in source.decode(**wanted):
            if isinstance(frame, av.VideoFrame):
                frame.pts, frame.time_base = number, 1 / FPS
                frame.pict_type = av.video.frame.PictureType.NONE
                target.mux(pictures.encode(frame))
                number += 1
                continue
            assert sound is not None
            assert isinstance(frame, av.AudioFrame)
            for resampled in resampler.resample(frame):
                target.mux(sound.encode(resampled))
        target.mux(pictures.encode(None))
        if sound is not None:
            target.mux(sound.encode(None))


_X264 = (
    "-c:v",
    "libx264",
    "-preset",
    "veryfast",
    "-crf",
    "18",
    "-pix_fmt",
    "yuv420p",
    "-threads",
    "2",
    "-g",
    "60",
)


def _ffmpeg(folder: Path, arguments: list[str]) -> None:
    program = ["ffmpeg", "-y", "-loglevel", "error"]
    subprocess.run([*program, *arguments, *_X264, folder / "graph.mp4"], check=True)


def _xfade_of_videos(clip: Path) -> list[str]:
    half = SECONDS // 2
    fade = f"[0:v][1:v]xfade=transition=fade:duration=2:offset={half - 1}"
    return [
        "-t",
        str(half + 1),
        "-i",
        str(clip),
        "-ss",
        "1",
        "-t",
        str(half + 1),
        "-i",
        str(clip),
        "-filter_complex",
        fade,
    ]


def _xfade_of_pictures(assets: LocalAssets) -> list[str]:
    inputs: list[str] = []
    for n in range(4):
        path = assets.fetch(f"{MEDIA_ORIGIN}{n}.png").path
        inputs += ["-loop", "1", "-framerate", "30", "-t", "1.75", "-i", str(path)]
    graph = "".join(f"[{n}:v]format=yuv420p[p{n}];" for n in range(4))
    before = "p0"
    for n in range(1, 4):
        after = "" if n == 3 else f"[x{n}]"
        graph += f"[{before}][p{n}]xfade=transition=fade:duration=1:offset={n * 0.75}{after};"
        before = f"x{n}"
    return [*inputs, "-filter_complex", graph.rstrip(";")]


def _makers() -> dict[str, Callable[[Path], object]]:
    return {
        "clip.mp4": _make_clip,
        "music.m4a": _make_music,
        "logo.png": _make_logo,
        **{f"{n}.png": partial(_make_picture, n=n) for n in range(4)},
    }


def _make_clip(path: Path) -> None:
    source = f"testsrc2=size={WIDTH}x{HEIGHT}:rate=30:duration={SECONDS}"
    subprocess.run(
        [
            "ffmpeg",
            "-y",
            "-loglevel",
            "error",
            "-f",
            "lavfi",
            "-i",
            f"{source},noise=alls=3:allf=t",
            "-f",
            "lavfi",
            "-i",
            f"sine=frequency=330:duration={SECONDS}",
            "-c:v",
            "libx264",
            "-preset",
            "fast",
            "-crf",
            "20",
            "-pix_fmt",
            "yuv420p",
            "-colorspace",
            "bt709",
            "-color_primaries",
            "bt709",
            "-color_trc",
            "bt709",
            "-color_range",
            "tv",
            path,
        ],
        check=True,
    )


def _make_music(path: Path) -> None:
    tone = f"sine=frequency=220:duration={SECONDS}"
    command = ["ffmpeg", "-y", "-loglevel", "error", "-f", "lavfi", "-i", tone, str(path)]
    subprocess.run(command, check=True)


def _make_logo(path: Path) -> None:
    pixels = np.zeros((160, 220, 4), np.uint8)
    pixels[20:140, 20:200] = (240, 80, 40, 255)
    write_picture(path, pixels)


def _make_picture(path: Path, n: int) -> None:
    ys, xs = np.mgrid[:HEIGHT, :WIDTH]
    waves = [
        128 + 100 * np.sin(xs / (40 + 20 * n) + c) * np.cos(ys / (60 + 9 * n)) for c in range(3)
    ]
    write_picture(path, np.stack(waves, axis=-1).astype(np.uint8))
