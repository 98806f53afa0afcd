"""Text and captions in films: when each word appears, and how long texts last."""

import json
from fractions import Fraction
from itertools import groupby
from pathlib import Path

import numpy as np
import pytest

from tests.e2e.conformance import film, group, ink, length_s, scene, word_spans
from tests.e2e.conftest import FilmHarness, RenderedFilm
from tests.support.frame_codes import Picture
from tests.support.local_assets import MEDIA_ORIGIN, LocalAssets

FADE = "<style>@keyframes appear { from { opacity: 0 } to { opacity: 1 } }</style>"
LETTERS = "font:bold 28px/40px 'DejaVu Sans Mono',monospace;color:#fff;white-space:nowrap"
ADVANCE_PX = 28 * 0.602
FADE_MS = 200
FADE_FPS = 20


def fade_starts_ms(rendered: RenderedFilm) -> list[float]:
    """When each word began to fade in, by how bright it is in the frames while it does."""
    final = rendered.pictures[-1]
    starts = []
    for columns in word_spans(final):
        whole = ink(final, columns)
        # A frame that is half-way at 400 ms belongs to a fade that began at 300 ms.
        found = [
            n * 1000 / FADE_FPS - FADE_MS * ink(picture, columns) / whole
            for n, picture in enumerate(rendered.pictures)
            if 0.2 < ink(picture, columns) / whole < 0.8
        ]
        assert found, "a word that never fades"
        starts.append(float(np.mean(found)))
    return starts


def fading(attributes: str, style: str = "", words: str = "un deux trois quatre") -> str:
    animation = f"animation:appear {FADE_MS}ms linear both;{style}"
    text = f'<ef-text {attributes} style="{animation}">{words}</ef-text>'
    return FADE + scene(text, f'duration="1s" fps="{FADE_FPS}"', f"{LETTERS};font-size:20px")


STAGGERED = {
    "word": (fading('split="word" stagger="100ms"'), [0, 100, 200, 300]),
    "the default": (fading('stagger="100ms"'), [0, 100, 200, 300]),
    "half of it": (fading('stagger="50ms"'), [0, 50, 100, 150]),
    # Ease-in at 1/3 and 2/3 of the way, of 300 ms in all.
    "eased": (fading('stagger="100ms" easing="ease-in"'), [0, 50.8, 149.0, 300]),
    "characters": (fading('split="char" stagger="100ms"', words="a b c d"), [0, 100, 200, 300]),
}


@pytest.mark.parametrize("name", STAGGERED)
def test_case_07_units_of_a_text_appear_one_after_the_other(
    harness: FilmHarness, name: str
) -> None:
    html, expected_ms = STAGGERED[name]
    assert fade_starts_ms(film(harness, html)) == pytest.approx(expected_ms, abs=5)


WORDS = '<ef-text style="position:absolute;left:0;top:0">un deux trois</ef-text>'
LENGTHS = {
    "contain": (WORDS, 'mode="contain"', 3),
    "sequence": (WORDS, 'mode="sequence"', 3),
    "characters": (WORDS.replace("<ef-text", '<ef-text split="char"'), 'mode="contain"', 11),
    "fixed": (WORDS, 'mode="fixed" duration="2s"', 2),
    "with a duration": (
        WORDS.replace("<ef-text", '<ef-text duration="1500ms"'),
        'mode="contain"',
        Fraction(3, 2),
    ),
    "fit": (group('mode="fit"', WORDS) + group('duration="2s"'), 'mode="contain"', 2),
}


@pytest.mark.parametrize("name", LENGTHS)
def test_case_08_a_text_lasts_a_second_a_unit_or_as_long_as_its_parent(
    harness: FilmHarness, name: str
) -> None:
    content, attributes, seconds = LENGTHS[name]
    rendered = film(harness, scene(content, f'{attributes} fps="10"', LETTERS))
    assert length_s(rendered) == seconds
    assert all(len(word_spans(picture)) == 3 for picture in rendered.pictures)


def test_a_text_disappears_after_its_duration(harness: FilmHarness) -> None:
    text = WORDS.replace("<ef-text", '<ef-text duration="600ms"')
    rendered = film(harness, scene(text, 'duration="1s" fps="10"', LETTERS))
    seen = [ink(picture, slice(None)) > 0 for picture in rendered.pictures]
    assert seen == [True] * 6 + [False] * 4


DELAYS = {
    "delay": "animation-delay:calc(var(--ef-word-index) * 150ms)",
    "shorthand": f"animation:appear {FADE_MS}ms linear calc(var(--ef-word-index) * 150ms) both",
}


@pytest.mark.parametrize("name", DELAYS)
def test_case_09_a_delay_by_the_number_of_the_word(harness: FilmHarness, name: str) -> None:
    rendered = film(harness, fading('split="word"', DELAYS[name]))
    assert fade_starts_ms(rendered) == pytest.approx([0, 150, 300, 450], abs=5)


# A word of one letter, then a pause, then words of two and three.
SEGMENT = {"start": 0.1, "end": 1.8, "text": "M MM MMM"}
SPOKEN = [
    {"start": 0.3, "end": 0.6, "text": "M"},
    {"start": 0.9, "end": 1.2, "text": "MM"},
    {"start": 1.2, "end": 1.6, "text": "MMM"},
]


def in_ms(cue: dict[str, object]) -> dict[str, object]:
    times = {name: round(1000 * float(str(cue[name]))) for name in ("start", "end")}
    return {**cue, **times}


NESTED = [
    {"word": cue["text"], "start": in_ms(cue)["start"], "end": in_ms(cue)["end"]} for cue in SPOKEN
]
CAPTIONS = {
    "seconds": {"segments": [SEGMENT], "word_segments": SPOKEN},
    "milliseconds": {
        "segments": [in_ms(SEGMENT)],
        "word_segments": [in_ms(cue) for cue in SPOKEN],
    },
    "nested words": {"segments": [{**in_ms(SEGMENT), "words": NESTED}]},
}
PARTS = ("segment", "before-active-word", "active-word", "after-active-word")
ROW_PX = 40
# Letters in each part, from each tenth of a second on: the segment with its two spaces is eight
# letters wide, what is left of it as wide as its words and the spaces between them.
EXPECTED = {
    0: (0, 0, 0, 0),
    1: (8, 0, 0, 8),
    3: (8, 0, 1, 6),
    6: (8, 8, 0, 0),
    9: (8, 1, 2, 3),
    12: (8, 4, 3, 0),
    16: (8, 8, 0, 0),
    18: (0, 0, 0, 0),
}


def letters(picture: Picture) -> tuple[int, ...]:
    """How wide the text of each row is, in letters."""
    widths = []
    for row in range(len(PARTS)):
        strip = picture[row * ROW_PX : (row + 1) * ROW_PX]
        inked = np.flatnonzero(strip.max(axis=(0, 2)) > 100)
        widths.append(round((inked[-1] - inked[0] + 1) / ADVANCE_PX) if inked.size else 0)
    return tuple(widths)


def captions(attributes: str) -> str:
    parts = "".join(
        f'<div style="position:absolute;top:{ROW_PX * n}px;left:4px">'
        f"<ef-captions-{part}></ef-captions-{part}></div>"
        for n, part in enumerate(PARTS)
    )
    content = f"<ef-captions {attributes}>{parts}</ef-captions>"
    return scene(content, 'duration="2s" fps="10"', LETTERS)


def changes(rendered: RenderedFilm) -> dict[int, tuple[int, ...]]:
    """From which frame on the rows are how wide."""
    numbered = groupby(enumerate(map(letters, rendered.pictures)), key=lambda pair: pair[1])
    return {next(frames)[0]: widths for widths, frames in numbered}


@pytest.mark.parametrize("name", CAPTIONS)
def test_case_10_captions_show_each_word_in_its_time(harness: FilmHarness, name: str) -> None:
    data = f'<script type="application/json" id="said">{json.dumps(CAPTIONS[name])}</script>'
    rendered = film(harness, data + captions('captions-script="said"'))
    assert changes(rendered) == EXPECTED


SUBTITLES = """WEBVTT

00:00.300 --> 00:00.900
M MM

00:01.200 --> 00:01.600
MMM
"""


def test_case_10_captions_can_be_a_subtitle_file(harness: FilmHarness, tmp_path: Path) -> None:
    media = LocalAssets(tmp_path, {"said.vtt": lambda path: path.write_text(SUBTITLES)})
    rendered = film(harness, captions(f'captions-src="{MEDIA_ORIGIN}said.vtt"'), media)
    segments = {frame: widths[0] for frame, widths in changes(rendered).items()}
    assert [segments.get(frame) for frame in (0, 3, 9, 12, 16)] == [0, 4, 0, 3, 0]
