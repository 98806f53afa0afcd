"""Facts of a source come from a child process that the source may have taken over."""

from fractions import Fraction

import pytest

from framekiln.kit.media_kind import MediaKind
from framekiln.media.probe.probed_source import ProbedSource

FACTS = ProbedSource(
    kind=MediaKind.VIDEO,
    size_bytes=5,
    duration_s=Fraction(10, 3),
    fps=Fraction(30000, 1001),
    frame_ms=(Fraction(0), Fraction(100, 3)),
)


def test_facts_survive_json() -> None:
    assert ProbedSource.from_json(FACTS.to_json()) == FACTS


@pytest.mark.parametrize(
    "lie", [{"fps": "1e999999999"}, {"duration_s": "1e999999999"}, {"frame_ms": ["1e999999999"]}]
)
def test_numbers_that_take_hours_to_read_are_refused(lie: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="not a fraction"):
        ProbedSource.from_json({**FACTS.to_json(), **lie})
