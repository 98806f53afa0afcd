"""Reads Lottie animations. They are JSON, which Python parses safely, so any process may do it."""

import json
from pathlib import Path
from typing import Any, Final

from framekiln.kit.lottie import NotLottie, lottie_facts
from framekiln.media.errors import UnreadableMedia

MAX_LOTTIE_BYTES: Final = 16 << 20


def read_lottie(path: Path) -> dict[str, Any]:
    """Return the Lottie animation in a file, or raise `UnreadableMedia`."""
    size_bytes = path.stat().st_size
    if size_bytes > MAX_LOTTIE_BYTES:
        raise UnreadableMedia(
            f"an animation of {size_bytes} bytes; at most {MAX_LOTTIE_BYTES} are read"
        )
    try:
        animation = json.loads(path.read_bytes())
        lottie_facts(animation)
    except NotLottie as error:
        raise UnreadableMedia(
            f"the JSON is not a Lottie animation: {error}; captions must be WebVTT or SubRip"
        ) from error
    except (ValueError, RecursionError) as error:
        raise UnreadableMedia(f"the file looks like JSON, but is not: {error}") from error
    assert isinstance(animation, dict)
    return animation
