"""One small file of every kind of source, made on first use."""

import json
import struct
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import av
from PIL import Image

from tests.support.clips import Clip, make_clip
from tests.support.layer_media import moving_square
from tests.support.lottie_archives import packed_square

RED, GREEN, BLUE = (255, 0, 0), (0, 255, 0), (0, 0, 255)
SHORT = Clip(width=64, height=48, duration_s=Fraction(1), fps=Fraction(10))
SVG = '<svg xmlns="http://www.w3.org/2000/svg" {}><rect width="9" height="9" fill="red"/></svg>'
SRT = "1\n00:00:00,000 --> 00:00:01,000\nHello\n"


def still(path: Path, form: str, **options: Any) -> None:
    Image.new("RGB", (60, 40), RED).save(path, form, **options)


def moving(path: Path, form: str, **options: Any) -> None:
    """Write red for 0.1 s, green for 0.2 s and blue for 0.3 s, lossless."""
    frames = [Image.new("RGB", (60, 40), colour) for colour in (RED, GREEN, BLUE)]
    options = {"duration": [100, 200, 300], "loop": 0, **options}
    frames[0].save(path, form, save_all=True, append_images=frames[1:], **options)


def turned_jpeg(path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    still(path, "JPEG", exif=exif)


def lottie(path: Path, **changed: Any) -> None:
    """Write the moving square; fields that are None are left out."""
    animation = {**moving_square(), **changed}
    kept = {name: value for name, value in animation.items() if value is not None}
    path.write_text(json.dumps(kept))


def with_cover(path: Path) -> None:
    """Write an MP3 with a cover image."""
    bare, cover = path.with_suffix(".bare.mp3"), path.with_suffix(".jpg")
    sound(bare, "libmp3lame")
    still(cover, "JPEG")
    with av.open(bare) as heard, av.open(cover) as seen, av.open(path, "w") as out:
        streams = [
            (each, out.add_stream_from_template(each.streams[0], opaque=True))
            for each in (heard, seen)
        ]
        streams[1][1].disposition = av.stream.Disposition.attached_pic
        for source, stream in streams:
            for packet in source.demux():
                if packet.dts is not None:
                    packet.stream = stream
                    out.mux(packet)


def sound(path: Path, codec: str) -> None:
    make_clip(path, Clip(video_codec=None, audio_codec=codec, duration_s=Fraction(1)))


def clip(path: Path, **changed: Any) -> None:
    make_clip(path, Clip(**{**SHORT.__dict__, **changed}))


def overstated(path: Path) -> None:
    """Write an MKV of a second whose header states 1.9 s, as if its subtitles were longer."""
    clip(path, audio_codec=None)
    data = bytearray(path.read_bytes())
    at = data.index(b"\x44\x89\x88") + 3
    data[at : at + 8] = struct.pack(">d", 1900)
    path.write_bytes(data)


SOURCES: dict[str, Callable[[Path], object]] = {
    "still.gif": partial(still, form="GIF"),
    "moving.gif": partial(moving, form="GIF"),
    "hasty.gif": partial(moving, form="GIF", duration=[0, 10, 20]),
    "still.webp": partial(still, form="WEBP"),
    "moving.webp": partial(moving, form="WEBP", lossless=True, loop=3),
    "still.png": partial(still, form="PNG"),
    "moving.png": partial(moving, form="PNG"),
    "covered.png": partial(moving, form="PNG", default_image=True, duration=[100, 200]),
    "turned.jpg": turned_jpeg,
    "still.avif": partial(still, form="AVIF"),
    "moving.avif": partial(moving, form="AVIF"),
    "plain.json": lottie,
    "no-ip.json": partial(lottie, ip=None),
    "late.json": partial(lottie, ip=15),
    "ntsc.json": partial(lottie, fr=29.97, w=200.5),
    "packed.lottie": lambda path: path.write_bytes(packed_square()),
    "sized.svg": partial(Path.write_text, data=SVG.format('width="50" height="2cm"')),
    "boxed.svg": partial(Path.write_text, data=SVG.format('viewBox="0 0 90 30"')),
    "bare.svg": partial(Path.write_text, data=SVG.format("")),
    "clip.mp4": clip,
    "silent.mp4": partial(clip, audio_codec=None),
    "varying.mp4": partial(clip, variable_rate=True, audio_codec=None),
    "turned.mp4": partial(clip, rotation_degrees=90, audio_codec=None),
    "overstated.mkv": overstated,
    "bare.mp3": partial(sound, codec="libmp3lame"),
    "covered.mp3": with_cover,
    "tone.wav": partial(sound, codec="pcm_s16le"),
    "tone.ogg": partial(sound, codec="libopus"),
    "said.srt": partial(Path.write_text, data=SRT),
}
