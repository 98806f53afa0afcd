"""Computed media for films of layers, and the layers that show them."""

import wave
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import av
import numpy as np
from PIL import Image

from tests.support.clips import Clip, make_clip, make_still, write_picture
from tests.support.frame_codes import Picture
from tests.support.local_assets import MEDIA_ORIGIN, LocalAssets
from tests.support.stock_media import SUBTITLES

CLIP, NTSC, STILL, TONE = (
    MEDIA_ORIGIN + name for name in ("clip.mp4", "ntsc.mp4", "still.png", "tone.wav")
)
FLAT, GIF, SVG, CAPTIONS, ALPHA, BROKEN = (
    MEDIA_ORIGIN + name
    for name in ("flat.png", "turns.gif", "disc.svg", "said.vtt", "glass.webm", "broken.mp4")
)
DISC = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="100" height="100">'
    '<circle cx="50" cy="50" r="50" fill="#00ff00"/></svg>'
)


def flat(path: Path, colour: tuple[int, ...] = (200, 100, 50), size: int = 64) -> Path:
    pixels = np.empty((size, size, len(colour)), np.uint8)
    pixels[...] = colour
    return write_picture(path, pixels)


def turning_gif(path: Path) -> None:
    colours = [(255, 0, 0), (0, 255, 0), (0, 0, 255)]
    frames = [Image.new("RGB", (64, 64), colour) for colour in colours]
    frames[0].save(path, save_all=True, append_images=frames[1:], duration=[100, 200, 300], loop=0)


def tone(path: Path) -> None:
    samples = (np.sin(np.arange(96_000) * 2 * np.pi * 440 / 48_000) * 0.25 * 32767).astype("<i2")
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(48_000)
        file.writeframes(samples.tobytes())


def glass(path: Path) -> None:
    """Two seconds of blue glass: VP9 whose right half is half transparent."""
    with av.open(path, "w") as container:
        stream = container.add_stream("libvpx-vp9", rate=10)
        stream.width, stream.height, stream.pix_fmt = 64, 64, "yuva420p"
        for number in range(20):
            pixels = np.zeros((64, 64, 4), np.uint8)
            pixels[...] = (0, 0, 255, 255)
            pixels[:, 32:, 3] = 128
            frame = av.VideoFrame.from_ndarray(pixels, format="rgba").reformat(format="yuva420p")
            frame.pts = number
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))


def layer_media(folder: Path) -> LocalAssets:
    """Return the files; each is made on first use."""
    makers: dict[str, Callable[[Path], object]] = {
        "clip.mp4": partial(make_clip, clip=Clip()),
        "ntsc.mp4": partial(make_clip, clip=Clip(fps=Fraction(30000, 1001))),
        "still.png": partial(make_still, n=7),
        "flat.png": flat,
        "turns.gif": turning_gif,
        "disc.svg": partial(Path.write_text, data=DISC),
        "said.vtt": partial(Path.write_text, data=SUBTITLES),
        "tone.wav": tone,
        "glass.webm": glass,
        "broken.mp4": partial(Path.write_bytes, data=b"not a video at all"),
    }
    return LocalAssets(folder, makers)


def video(**more: Any) -> dict[str, Any]:
    return {"type": "video", "file": CLIP, **more}


def image(file: str = FLAT, **more: Any) -> dict[str, Any]:
    return {"type": "image", "file": file, **more}


def rect(colour: str, box: tuple[float, float, float, float], **more: Any) -> dict[str, Any]:
    left, top, width, height = box
    return {
        "type": "shape",
        "shape": {"kind": "rect", "color": colour},
        "size": {"width": width, "height": height},
        "position": {"x": left, "y": top, **more.pop("position", {})},
        **more,
    }


def is_near(picture: Picture, at: tuple[int, int], rgb: tuple[int, int, int], off: int = 5) -> bool:
    return bool(np.abs(picture[at[1], at[0]].astype(int) - rgb).max() <= off)


def moving_square() -> dict[str, Any]:
    """A red square of 20 px that crosses 200 px in a second, in 30 frames."""
    place = {
        "a": 1,
        "k": [
            {"t": 0, "s": [10, 50, 0], "i": {"x": 1, "y": 1}, "o": {"x": 0, "y": 0}},
            {"t": 30, "s": [190, 50, 0]},
        ],
    }
    still = {
        "o": {"a": 0, "k": 100},
        "r": {"a": 0, "k": 0},
        "a": {"a": 0, "k": [0, 0, 0]},
        "s": {"a": 0, "k": [100, 100, 100]},
    }
    square = {
        "ty": "gr",
        "it": [
            {
                "ty": "rc",
                "p": {"a": 0, "k": [0, 0]},
                "s": {"a": 0, "k": [20, 20]},
                "r": {"a": 0, "k": 0},
                "d": 1,
            },
            {"ty": "fl", "c": {"a": 0, "k": [1, 0, 0, 1]}, "o": {"a": 0, "k": 100}},
            {
                "ty": "tr",
                "p": {"a": 0, "k": [0, 0]},
                **still,
                "sk": {"a": 0, "k": 0},
                "sa": {"a": 0, "k": 0},
            },
        ],
    }
    layer = {
        "ty": 4,
        "ip": 0,
        "op": 30,
        "st": 0,
        "bm": 0,
        "sr": 1,
        "ddd": 0,
        "ind": 1,
        "ks": {**still, "p": place},
        "shapes": [square],
    }
    return {
        "v": "5.7.0",
        "fr": 30,
        "ip": 0,
        "op": 30,
        "w": 200,
        "h": 100,
        "ddd": 0,
        "assets": [],
        "layers": [layer],
    }
