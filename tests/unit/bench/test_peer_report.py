"""The figures of `make bench-peers`, from made-up measurements."""

import pytest

from tests.bench.peers.cases import CASES, Case
from tests.bench.peers.films import Film
from tests.bench.peers.process import Usage
from tests.bench.peers.report import (
    HEADINGS,
    OURS,
    FilmCost,
    PeerRow,
    markdown_of,
    notes_of,
    ratio_to,
    table_of,
)
from tests.bench.peers.tools import ffmpeg_wrapper, framekiln_page, hyperframes_page


def cost(short_s: float, long_s: float) -> FilmCost:
    return FilmCost(Usage(short_s, 1, 90), Usage(long_s, 2.5, 100), 30, 120)


ROWS = [
    PeerRow("titles 720p", "encode only", cost(0.6, 2.4), is_baseline=True),
    PeerRow("titles 720p", OURS, cost(2.9, 5.6)),
    PeerRow("titles 720p", "Other", cost(5, 14), ssim=0.99),
    PeerRow("titles 720p", "Broken", None, failure="no browser"),
    PeerRow("canvas 720p", "Other", cost(5, 14), ssim=0.5),
]


def test_a_further_frame_costs_the_difference_of_two_films() -> None:
    assert cost(2.9, 5.6).marginal_ms == pytest.approx(30)
    assert cost(2.9, 5.6).whole_ms == pytest.approx(5600 / 120)


def test_ratios_are_those_of_the_same_film() -> None:
    cells = [dict(zip(HEADINGS, row, strict=True)) for row in table_of(ROWS)]
    assert [row["marginal / encoding"] for row in cells] == ["1.00x", "1.50x", "5.00x", "-", "-"]
    assert [row["marginal / Framekiln"] for row in cells] == ["-", "1.00x", "3.33x", "-", "-"]
    assert [row["whole / Framekiln"] for row in cells] == ["-", "1.00x", "2.50x", "-", "-"]


def test_there_is_no_ratio_to_nothing() -> None:
    assert ratio_to(ROWS[1], None, "whole_ms") is None
    assert ratio_to(ROWS[1], ROWS[3], "whole_ms") is None
    assert ratio_to(ROWS[1], PeerRow("x", "y", cost(1, 1)), "marginal_ms") is None


def test_failures_and_other_pictures_are_named() -> None:
    assert notes_of(ROWS) == [
        "titles 720p: Broken failed: no browser",
        "canvas 720p: pictures of Other differ from ours, SSIM 0.500",
    ]


def test_the_table_is_markdown() -> None:
    lines = markdown_of(ROWS).splitlines()
    assert len(lines) == 2 + len(ROWS)
    assert {line.count("|") for line in lines} == {len(HEADINGS) + 1}
    assert "| Broken | failed |" in lines[5]


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_every_page_is_the_same_for_all_tools(case: Case) -> None:
    film = Film(case, 720, 30)
    for page in (framekiln_page(film), hyperframes_page(film)):
        assert film.case.html in page
        assert (film.case.script or "") in page
        assert (film.case.video or "") in page
        assert (film.case.audio or "") in page


def test_a_story_swaps_width_and_height() -> None:
    assert (Film(CASES["story"], 1080, 30).width, Film(CASES["story"], 1080, 30).height) == (
        1080,
        1920,
    )


def test_the_wrapper_sets_the_preset_alone() -> None:
    script = ffmpeg_wrapper("/usr/bin/ffmpeg")
    assert script.startswith("#!/usr/bin/env bash\n")
    assert "veryfast" in script
    assert script.endswith('exec /usr/bin/ffmpeg "${arguments[@]}"\n')
