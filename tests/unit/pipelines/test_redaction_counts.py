"""What the counts of a redaction say: what was hidden, what was muted, and what was neither."""

import pytest

from framekiln.files.model import Track, TrackType
from framekiln.kit.ids import FileId, new_uuid
from framekiln.pipelines.steps.redact_render import EffectCounts, count_effects
from framekiln.renders.model import Redaction

SPAN = {"start_ms": 500, "end_ms": 900}
LATE = {"start_ms": 3000, "end_ms": 9000}
REDACTION = Redaction(FileId(new_uuid()), boxes=[SPAN, SPAN, LATE], mutes=[SPAN, LATE])


def track(type_: TrackType, duration_ms: int, start_time: object = "0.000000") -> Track:
    info = {"start_time": start_time}
    return Track(REDACTION.file_id, 1, type_, "", duration_ms, 1, 1, True, info)


VIDEO, SOUND = track("video", 3000), track("audio", 3000)


@pytest.mark.spec("2.11")
@pytest.mark.parametrize(
    ("tracks", "expected"),
    [
        ([VIDEO, SOUND], EffectCounts(blurred=2, muted=1, without_effect=2)),
        ([VIDEO], EffectCounts(blurred=2, muted=0, without_effect=3)),
        ([SOUND], EffectCounts(blurred=0, muted=1, without_effect=4)),
        ([VIDEO, track("audio", 400)], EffectCounts(blurred=2, muted=0, without_effect=3)),
        ([track("video", 400), track("audio", 4000)], EffectCounts(0, 2, 3)),
        ([track("video", 2600, "0.500000"), SOUND], EffectCounts(3, 1, 1)),
        ([VIDEO, SOUND, track("audio", 3001)], EffectCounts(2, 2, 1)),
    ],
    ids=[
        "film",
        "silent film",
        "sound alone",
        "short sound",
        "short video",
        "late video",
        "second sound",
    ],
)
def test_annotations_that_hide_and_mute_nothing_are_counted_apart(
    tracks: list[Track], expected: EffectCounts
) -> None:
    """They were compared with the end of the file, which is that of its longest track."""
    assert count_effects(REDACTION, tracks) == expected


@pytest.mark.parametrize("start_time", [None, "soon", "-1", {}, "9" * 400])
def test_tracks_of_unknown_times_count_from_zero(start_time: object) -> None:
    """Callers may store anything as what ffprobe said."""
    tracks = [track("video", 3000, start_time), track("audio", 0)]
    assert count_effects(REDACTION, tracks) == EffectCounts(blurred=2, muted=2, without_effect=1)
