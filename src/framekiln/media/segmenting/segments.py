"""Makes any one segment of a rendition by itself, with its absolute times.

A segment costs what it shows and the way from the keyframe before it, never what lies in between.
The two tasks are what a confined child is asked to do.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from framekiln.media.segmenting.cmaf import media_segment
from framekiln.media.segmenting.renditions import AUDIO, Rendition
from framekiln.media.segmenting.segment_pictures import copy_pictures, encode_pictures
from framekiln.media.segmenting.segment_sound import copy_sound, encode_sound
from framekiln.media.segmenting.source_outline import outline_of

TASKS_MODULE: Final = "framekiln.media.segmenting.segments"
OUTLINE_TASK: Final = f"{TASKS_MODULE}:outline_task"
SEGMENT_TASK: Final = f"{TASKS_MODULE}:segment_task"

Report = Callable[[dict[str, Any]], None]


def make_segment(
    path: Path, rendition: Rendition, number: int, *, is_primed: bool = False
) -> bytes:
    """Return segment `number`, from 1, without the track's header; `path` has the track.

    `is_primed` is for Chromium: sound is exact from the first sample. Other players would hear it
    late; without it the first frame is faded in.
    """
    if rendition.id == AUDIO:
        make_sound = copy_sound if rendition.is_copy else encode_sound
        samples = make_sound(path, rendition, number, is_primed=is_primed)
    else:
        make_pictures = copy_pictures if rendition.is_copy else encode_pictures
        samples = make_pictures(path, rendition, number)
    start, end = rendition.bounds[number - 1 : number + 1]
    return media_segment(samples, start=start, end=end, number=number, delay=rendition.delay)


def outline_task(args: Mapping[str, Any], report: Report) -> dict[str, Any]:
    """Look at the files named in `pictures` and `sound`; each may be null."""
    pictures, sound = (Path(args[kind]) if args[kind] else None for kind in ("pictures", "sound"))
    return outline_of(pictures, sound).to_json()


def segment_task(args: Mapping[str, Any], report: Report) -> dict[str, Any]:
    """Write segment `number` of `rendition`, made from the file `source`, to the file `out`."""
    rendition = Rendition.from_json(args["rendition"])
    data = make_segment(Path(args["source"]), rendition, args["number"])
    return {"bytes": Path(args["out"]).write_bytes(data)}
