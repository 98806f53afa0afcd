"""Makes one segment of a rendition, with its absolute times.

The cost of a segment is its own duration and the distance from the previous keyframe. The two tasks
run in a confined child process.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from framekiln.media.segments.audio_segment import copy_audio_segment, encode_audio_segment
from framekiln.media.segments.cmaf import media_segment
from framekiln.media.segments.outline import make_outline
from framekiln.media.segments.renditions import AUDIO, Rendition
from framekiln.media.segments.video_segment import copy_video_segment, encode_video_segment

TASKS_MODULE: Final = "framekiln.media.segments.tasks"
OUTLINE_TASK: Final = "framekiln.media.segments.tasks:outline_task"
SEGMENT_TASK: Final = "framekiln.media.segments.tasks:segment_task"

Report = Callable[[dict[str, Any]], None]


def make_segment(
    path: Path, rendition: Rendition, number: int, *, is_primed: bool = False
) -> bytes:
    """Return segment `number`, from 1, without the track's header; `path` has the track.

    `is_primed` is for Chromium: audio is exact from the first sample. Other players would play it
    late; without it the first frame is faded in.
    """
    if rendition.id == AUDIO:
        make_sound = copy_audio_segment if rendition.is_copy else encode_audio_segment
        samples = make_sound(path, rendition, number, is_primed=is_primed)
    else:
        make_pictures = copy_video_segment if rendition.is_copy else encode_video_segment
        samples = make_pictures(path, rendition, number)
    start, end = rendition.bounds[number - 1 : number + 1]
    return media_segment(samples, start=start, end=end, number=number, delay=rendition.delay)


def outline_task(args: Mapping[str, Any], report: Report) -> dict[str, Any]:
    """Probe the files named in `pictures` and `sound`; each may be null, and so may `language`."""
    pictures, sound = (Path(args[kind]) if args[kind] else None for kind in ("pictures", "sound"))
    return make_outline(pictures, sound, language=args.get("language")).to_json()


def segment_task(args: Mapping[str, Any], report: Report) -> dict[str, Any]:
    """Write segment `number` of `rendition`, made from the file `source`, to the file `out`."""
    rendition = Rendition.from_json(args["rendition"])
    data = make_segment(Path(args["source"]), rendition, args["number"])
    return {"bytes": Path(args["out"]).write_bytes(data)}
