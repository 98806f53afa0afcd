"""Thumbnails and waveform of a video for dashboards, made in a confined child process.

Both are optional. If one cannot be made, it is skipped and the result says why. Existing thumbnails
are kept.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from framekiln.media.analysis.thumbnails import sheet_layout, write_thumbnails
from framekiln.media.audio.waveform import read_waveform
from framekiln.media.errors import UnreadableMedia
from framekiln.media.probe.media_file import MediaFacts, probe_media

THUMBNAILS: Final = "thumbnails.jpg"
WAVEFORM: Final = "waveform.json"

Report = Callable[[dict[str, Any]], None]


def overview_task(args: dict[str, Any], report: Report) -> dict[str, Any]:
    """Write `thumbnails.jpg` and `waveform.json` of `source` into `folder`.

    Returns `thumbnails` (the layout of the sheet), `waveform` (the number of peaks and the duration
    of each) and `problems`. The first two are None if the file was not written.
    """
    source, folder = Path(args["source"]), Path(args["folder"])
    facts = probe_media(source)
    problems: list[str] = []
    made: dict[str, Any] = {"problems": problems}
    for name, make in (("thumbnails", _thumbnails), ("waveform", _waveform)):
        try:
            made[name] = make(source, facts, folder)
        except UnreadableMedia as error:
            made[name] = None
            problems.append(error.message)
        report({"made": name})
    return made


def _thumbnails(source: Path, facts: MediaFacts, folder: Path) -> dict[str, Any] | None:
    if facts.video is None:
        return None
    target = folder / THUMBNAILS
    made = sheet_layout(facts) if target.is_file() else write_thumbnails(source, facts, target)
    return made.as_json()


def _waveform(source: Path, facts: MediaFacts, folder: Path) -> dict[str, Any] | None:
    if facts.audio is None:
        return None
    waveform = read_waveform(source).as_json()
    (folder / WAVEFORM).write_text(json.dumps(waveform, separators=(",", ":")))
    return {name: value for name, value in waveform.items() if name != "data"}
