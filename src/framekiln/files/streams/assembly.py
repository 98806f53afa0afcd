"""Makes everything that players need from the track files of a sealed stream.

Runs in a confined child. The tracks stay unchanged. Each is verified once more as a whole, its
frames are decoded for a scrub track, and all tracks are also muxed into one ordinary MP4.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from framekiln.media.analysis.frame_overview import FrameOverview
from framekiln.media.isobmff.index import SCRUB_TRACK_ID, index_entry
from framekiln.media.probe.media_file import VideoFacts, probe_media
from framekiln.media.remux.track_mux import mux_mp4
from framekiln.media.tracks.progress import WorkProgress
from framekiln.media.tracks.split import (
    INDEX_NAME,
    SCRUB_REASON,
    ProcessedTrack,
    ProcessedVideo,
    duration_of_all_ms,
    track_path,
)
from framekiln.media.tracks.track_copy import encoded_fps
from framekiln.media.tracks.video_tracks import (
    OnDecodedFrame,
    VideoTrackSource,
    VideoTrackSpec,
    encode_video_tracks,
)

Report = Callable[[dict[str, Any]], None]


ASSEMBLY_TASK: Final = "framekiln.files.streams.assembly:assembly_task"


def assembly_task(args: dict[str, Any], report: Report) -> dict[str, Any]:
    """Complete `folder`, which has the track files of `track_ids`; return the same as media/split.

    The whole MP4 is written to the file named `source` in it.
    """
    done = WorkProgress(lambda part: report({"progress": float(part)}))
    folder = Path(args["folder"])
    return asdict(assemble_video(folder, args["track_ids"], done, source=folder / args["source"]))


def assemble_video(
    folder: Path, track_ids: Sequence[int], done: WorkProgress, *, source: Path
) -> ProcessedVideo:
    """Write the scrub track, the index and the whole MP4, or raise `UnreadableMedia`."""
    index = {
        track_id: index_entry(track_id, track_path(folder, track_id)) for track_id in track_ids
    }
    mux_mp4([track_path(folder, track_id) for track_id in track_ids], source)
    facts = probe_media(source)
    tracks = [
        ProcessedTrack.of(track_path(folder, track_id), entry, reason=None)
        for track_id, entry in index.items()
    ]
    scrub: ProcessedTrack | None = None
    if facts.video is not None:
        pictures = sum(each["sample_count"] for each in index.values() if each["type"] == "video")
        done.plan(pictures)
        overview = FrameOverview(facts, encoded_fps(facts.video.fps))
        scrub_path = track_path(folder, SCRUB_TRACK_ID)
        _make_scrub(source, scrub_path, facts.video, viewer=overview.add_frame, done=done)
        overview.write(folder)
        index[SCRUB_TRACK_ID] = index_entry(SCRUB_TRACK_ID, scrub_path)
        scrub = ProcessedTrack.of(scrub_path, index[SCRUB_TRACK_ID], reason=SCRUB_REASON)
    text = json.dumps({str(key): index[key] for key in sorted(index)}, separators=(",", ":"))
    (folder / INDEX_NAME).write_text(text, encoding="utf-8")
    done.finish()
    return ProcessedVideo(
        width_px=facts.video.width_px if facts.video else None,
        height_px=facts.video.height_px if facts.video else None,
        duration_ms=duration_of_all_ms(facts, index.values()),
        tracks=tuple(tracks),
        scrub=scrub,
        left_out=(),
    )


def _make_scrub(
    source: Path, out: Path, facts: VideoFacts, *, viewer: OnDecodedFrame, done: WorkProgress
) -> None:
    encode_video_tracks(
        VideoTrackSource(source, facts.fps),
        [VideoTrackSpec.scrub(out, facts.width_px, facts.height_px)],
        tick=lambda: done.add(1),
        viewer=viewer,
    )
