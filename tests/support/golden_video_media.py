"""Media for the golden videos: a real clip, a real voice, and computed drawings."""

import json
import shutil
from functools import partial
from math import cos, pi, sin
from pathlib import Path
from typing import Any

import av
import numpy as np
from av.video.stream import VideoStream
from PIL import Image, ImageDraw

from tests.support.frame_codes import Picture
from tests.support.local_assets import Maker
from tests.support.stock_media import stock_makers, write_photo

HERE = Path(__file__).parent
GUIDES = HERE.parents[1] / "docs" / "howto"
GREEN = (30, 200, 60)
PRESENTER_PX = (320, 240)
LOGO = """<svg xmlns="http://www.w3.org/2000/svg" width="120" height="120" viewBox="0 0 120 120">
<circle cx="60" cy="60" r="56" fill="#f26b3a"/>
<path d="M34 84 L60 28 L86 84 Z" fill="none" stroke="#fff" stroke-width="10"
 stroke-linejoin="round"/><circle cx="60" cy="66" r="9" fill="#fff"/></svg>
"""
SAID = """1
00:00:00,200 --> 00:00:01,060
He was not

2
00:00:01,130 --> 00:00:02,740
an ill disposed young man
"""


def video_makers() -> dict[str, Maker]:
    """Return the functions that write each file, by name."""
    stock = stock_makers()
    photo = partial(partial, write_photo, scale=3)
    return {
        "clip.mp4": partial(shutil.copyfile, HERE.parents[1] / "examples/media/bunny.mp4"),
        "voice.flac": partial(shutil.copyfile, HERE / "speech" / "austen_0880.flac"),
        "music.wav": stock["music.wav"],
        "dawn.jpg": photo(sky=(250, 150, 90), ground=(60, 30, 70)),
        "noon.jpg": photo(sky=(120, 190, 250), ground=(40, 120, 60)),
        "dusk.jpg": photo(sky=(90, 60, 150), ground=(15, 20, 50)),
        "logo.svg": partial(Path.write_text, data=LOGO, encoding="utf-8"),
        "mug.png": _mug,
        "presenter.mp4": _presenting,
        "star.gif": _star,
        "rings.json": lambda path: path.write_text(json.dumps(_rings())),
        "voice.srt": partial(Path.write_text, data=SAID, encoding="utf-8"),
        "dialogue.vtt": partial(shutil.copyfile, GUIDES / "examples" / "dialogue.vtt"),
    }


def presenter(number: int = 0) -> Picture:
    """A person in front of an unevenly lit green wall; moves 4 pixels per frame."""
    width, height = PRESENTER_PX
    ys, xs = np.mgrid[:height, :width].astype(float)
    light = 0.75 + 0.25 * xs / width
    pixels = light[..., None] * np.array(GREEN)
    x = xs - 100 - 4 * number
    body = (x / 60) ** 2 + ((ys - 230) / 110) ** 2 < 1
    head = (x / 32) ** 2 + ((ys - 85) / 40) ** 2 < 1
    pixels[body] = np.stack([40 + ys * 0.3, 60 + 0 * ys, 140 + ys * 0.2], axis=-1)[body]
    pixels[head] = np.stack([220 - ys * 0.3, 170 - ys * 0.2, 140 + 0 * ys], axis=-1)[head]
    return np.clip(pixels, 0, 255).astype(np.uint8)


def _presenting(path: Path) -> None:
    write_film(path, [presenter(number) for number in range(30)])


def write_film(path: Path, pictures: list[Picture]) -> None:
    """Write frames as a nearly lossless film at 30 fps."""
    with av.open(path, "w") as film:
        stream = film.add_stream("libx264", rate=30, options={"crf": "8", "preset": "veryfast"})
        assert isinstance(stream, VideoStream)
        height, width = pictures[0].shape[:2]
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        for picture in pictures:
            frame = av.VideoFrame.from_ndarray(picture, format="rgb24")
            film.mux(stream.encode(frame.reformat(format="yuv420p")))
        film.mux(stream.encode(None))


def _mug(path: Path) -> None:
    """A mug on a transparent background: drawn at four times the size, then reduced."""
    image = Image.new("RGBA", (1200, 1200))
    draw = ImageDraw.Draw(image)
    draw.ellipse((700, 380, 1080, 860), outline=(200, 60, 50, 255), width=90)
    draw.rounded_rectangle((200, 220, 860, 1060), 120, fill=(225, 75, 60, 255))
    draw.ellipse((200, 130, 860, 330), fill=(245, 110, 95, 255))
    draw.ellipse((250, 160, 810, 305), fill=(70, 40, 30, 255))
    draw.rounded_rectangle((270, 420, 330, 940), 30, fill=(255, 255, 255, 90))
    image.resize((300, 300), Image.Resampling.LANCZOS).save(path)


def _star(path: Path) -> None:
    """A rotating star on a transparent background: twelve frames, a tenth of a second each."""
    frames = []
    for number in range(12):
        image = Image.new("P", (120, 120), 0)
        image.putpalette([0, 0, 0, 255, 205, 40, 240, 120, 20])
        reach = [56 if corner % 2 == 0 else 24 for corner in range(10)]
        turns = [pi * (corner / 5 + number / 30) for corner in range(10)]
        points = [
            (60 + r * sin(turn), 60 - r * cos(turn)) for r, turn in zip(reach, turns, strict=True)
        ]
        ImageDraw.Draw(image).polygon(points, fill=1, outline=2, width=4)
        frames.append(image)
    frames[0].save(
        path,
        save_all=True,
        append_images=frames[1:],
        duration=100,
        loop=0,
        transparency=0,
        disposal=2,
    )


def _rings() -> dict[str, Any]:
    """A vector animation of two seconds: three rings that open one after the other."""
    colours = ([0.95, 0.42, 0.23, 1], [0.16, 0.5, 0.73, 1], [0.15, 0.68, 0.38, 1])
    layers = [_ring(number, colour) for number, colour in enumerate(colours)]
    head = {"v": "5.7.0", "fr": 30, "ip": 0, "op": 60, "w": 300, "h": 300, "ddd": 0}
    return {**head, "assets": [], "layers": layers}


def _ring(number: int, colour: list[float]) -> dict[str, Any]:
    def fixed(value: Any) -> dict[str, Any]:
        return {"a": 0, "k": value}

    first = 10 * number
    bend = {"i": {"x": [0.2, 0.2, 0.2], "y": [1, 1, 1]}, "o": {"x": [0.4] * 3, "y": [0] * 3}}
    grows = {
        "a": 1,
        "k": [{"t": first, "s": [0, 0, 100], **bend}, {"t": first + 30, "s": [100, 100, 100]}],
    }
    width = 80 + 80 * number
    stroke = {"ty": "st", "c": fixed(colour), "o": fixed(100), "w": fixed(22), "lc": 2, "lj": 2}
    still = {"p": fixed([0, 0]), "a": fixed([0, 0]), "s": fixed([100, 100]), "r": fixed(0)}
    shape = {
        "ty": "gr",
        "it": [
            {"ty": "el", "p": fixed([0, 0]), "s": fixed([width, width])},
            stroke,
            {"ty": "tr", **still, "o": fixed(100), "sk": fixed(0), "sa": fixed(0)},
        ],
    }
    place = {"o": fixed(100), "r": fixed(0), "p": fixed([150, 150, 0]), "a": fixed([0, 0, 0])}
    times = {"ip": 0, "op": 60, "st": 0, "ind": number + 1}
    return {
        "ty": 4,
        "bm": 0,
        "sr": 1,
        "ddd": 0,
        **times,
        "ks": {**place, "s": grows},
        "shapes": [shape],
    }
