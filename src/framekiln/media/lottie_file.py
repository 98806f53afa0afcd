"""Reads Lottie animations. They are JSON, which Python parses safely, so any process may do it.

Values are counted first: empty lists alone would take half a gigabyte of memory.
"""

import json
from pathlib import Path
from typing import Any, Final

from framekiln.kit.json_scan import NumberTooLong, TooManyValues, scan_json
from framekiln.kit.lottie import NotLottie, lottie_facts
from framekiln.media.errors import UnreadableMedia
from framekiln.media.lottie_archive import ZIP_SIGNATURE, open_lottie_archive

MAX_LOTTIE_BYTES: Final = 16 << 20
MAX_LOTTIE_VALUES: Final = 3_000_000


def read_lottie(path: Path) -> dict[str, Any]:
    """Return the Lottie animation in a JSON file or a `.lottie` archive."""
    size_bytes = path.stat().st_size
    if size_bytes > MAX_LOTTIE_BYTES:
        raise UnreadableMedia(
            f"an animation of {size_bytes} bytes; at most {MAX_LOTTIE_BYTES} are read"
        )
    data = path.read_bytes()
    if not data.startswith(ZIP_SIGNATURE):
        return _parsed(data)
    with open_lottie_archive(data) as archive:
        animation = _parsed(archive.animation())
        archive.embed_images(animation)
    return animation


def _parsed(text: bytes) -> dict[str, Any]:
    try:
        scan_json(text, max_values=MAX_LOTTIE_VALUES)
        animation = json.loads(text)
        lottie_facts(animation)
    except (TooManyValues, NumberTooLong) as error:
        raise UnreadableMedia(f"an animation that is too large: it {error}") from error
    except NotLottie as error:
        raise UnreadableMedia(
            f"the JSON is not a Lottie animation: {error}; captions must be WebVTT or SubRip"
        ) from error
    except (ValueError, RecursionError) as error:
        raise UnreadableMedia(f"the file looks like JSON, but is not: {error}") from error
    assert isinstance(animation, dict)
    return animation
