"""What a source of a layer is, told by a confined child: size, length, sound, codec.

Which decoder is to try is said by whoever wants to use the source: a GIF can be a picture or a
film. Nothing is believed that its name or its server says.
"""

import json
import warnings
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from PIL import Image

from framekiln.media.captions import read_captions
from framekiln.media.errors import UnreadableMedia
from framekiln.media.imaging.image_facts import (
    LARGEST_SIDE_PX,
    BrokenImage,
    ImageTooLarge,
    image_facts,
)
from framekiln.media.probe import probe
from framekiln.media.probed_source import ANIMATION, CAPTIONS, IMAGE, MEDIA, ProbedSource
from framekiln.media.sniff import HEAD_BYTES, sniff

_AVIF: Final = "image/avif"
_MOST_JSON_BYTES: Final = 16 << 20


def task(args: dict[str, Any], _report: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """Look at `source` as what `kind` says, for `run_confined`."""
    return probe_source(Path(args["source"]), args["kind"]).to_json()


def probe_source(path: Path, kind: str) -> ProbedSource:
    """Return what a file is, or raise why it cannot be used as that."""
    look = {MEDIA: _media, IMAGE: _image, CAPTIONS: _captions, ANIMATION: _animation}[kind]
    return look(path, path.stat().st_size)


def _media(path: Path, size_bytes: int) -> ProbedSource:
    facts = probe(path)
    video, audio = facts.video, facts.audio
    return ProbedSource(
        size_bytes=size_bytes,
        codec=video.codec if video else None,
        width_px=video.width_px if video else None,
        height_px=video.height_px if video else None,
        duration_s=facts.duration_ms / 1000,
        fps=video.fps or None if video else None,
        sound_codec=audio.codec if audio else None,
        rate_hz=audio.rate_hz if audio else None,
        channels=audio.channels if audio else None,
    )


def _image(path: Path, size_bytes: int) -> ProbedSource:
    with path.open("rb") as file:
        mime_type = sniff(file.read(HEAD_BYTES)).mime_type
    if mime_type == _AVIF:
        width, height = _avif_size(path)
        return ProbedSource(size_bytes, "avif", width, height)
    facts = image_facts(path)
    codec = facts.mime_type.partition("/")[2].partition("+")[0]
    return ProbedSource(size_bytes, codec, facts.width_px, facts.height_px)


def _avif_size(path: Path) -> tuple[int, int]:
    try:
        with (
            warnings.catch_warnings(action="ignore"),
            Image.open(path, formats=["AVIF"]) as picture,
        ):
            width, height = picture.size
            if max(width, height) > LARGEST_SIDE_PX:
                raise ImageTooLarge(f"the picture is {width}x{height}: that is too large")
            picture.load()
            return width, height
    except Image.DecompressionBombError as error:
        raise ImageTooLarge("the picture has too many pixels") from error
    except (OSError, ValueError, SyntaxError, EOFError) as error:
        raise BrokenImage(f"the picture is damaged or cut off: {error}") from error


def _captions(path: Path, size_bytes: int) -> ProbedSource:
    if size_bytes > 2 << 20:
        raise UnreadableMedia(f"captions of {size_bytes} bytes; at most {2 << 20} are read")
    read_captions(path.read_bytes())
    return ProbedSource(size_bytes)


def _animation(path: Path, size_bytes: int) -> ProbedSource:
    """Read the head of a Lottie file."""
    if size_bytes > _MOST_JSON_BYTES:
        raise UnreadableMedia(f"an animation of {size_bytes} bytes; at most {_MOST_JSON_BYTES}")
    try:
        found = json.loads(path.read_bytes())
        width, height = int(found["w"]), int(found["h"])
        fps = Fraction(str(found["fr"]))
        frames = Fraction(str(found["op"])) - Fraction(str(found["ip"]))
        if min(width, height) < 1 or fps <= 0 or frames <= 0:
            raise ValueError("it has no size or no length")
    except (ValueError, KeyError, TypeError, ZeroDivisionError, RecursionError) as error:
        raise UnreadableMedia(f"the file is no Lottie animation: {error}") from error
    return ProbedSource(size_bytes, "lottie", width, height, frames / fps, fps)
