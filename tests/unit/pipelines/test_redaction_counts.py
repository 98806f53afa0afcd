"""What the counts of a redaction say: what was hidden, what was muted, and what was neither."""

import pytest

from framekiln.files.model import TrackType
from framekiln.kit.ids import FileId, new_uuid
from framekiln.pipelines.steps.redact_render import EffectCounts, count_effects
from framekiln.renders.model import Redaction

SPAN = {"start_ms": 500, "end_ms": 900}
LATE = {"start_ms": 3000, "end_ms": 9000}
REDACTION = Redaction(FileId(new_uuid()), boxes=[SPAN, SPAN, LATE], mutes=[SPAN, LATE])


@pytest.mark.spec("2.11")
@pytest.mark.parametrize(
    ("track_types", "expected"),
    [
        ({"video", "audio"}, EffectCounts(blurred=2, muted=1, without_effect=2)),
        ({"video"}, EffectCounts(blurred=2, muted=0, without_effect=3)),
        ({"audio"}, EffectCounts(blurred=0, muted=1, without_effect=4)),
    ],
    ids=["film", "silent film", "sound alone"],
)
def test_annotations_that_hide_and_mute_nothing_are_counted_apart(
    track_types: set[TrackType], expected: EffectCounts
) -> None:
    """A pipeline that sent other units of time got the counts of a film that is redacted."""
    assert count_effects(REDACTION, duration_ms=3000, track_types=track_types) == expected


def test_without_a_known_duration_no_time_is_too_late() -> None:
    counts = count_effects(REDACTION, duration_ms=None, track_types={"video", "audio"})
    assert counts == EffectCounts(blurred=3, muted=2, without_effect=0)
