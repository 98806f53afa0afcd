"""ef-text and ef-captions, as a real browser shows them."""

import json
from typing import Any

import pytest

from framekiln.capture.errors import PageThrew
from tests.support.composition_screen import Load, RecordingHost, scene

CAPTIONS: dict[str, list[dict[str, Any]]] = {
    "segments": [
        {"start": 0.5, "end": 2, "text": "Hello big world"},
        {"start": 2.5, "end": 3.2, "text": "Bye"},
    ],
    "word_segments": [
        {"start": 0.6, "end": 0.9, "text": "Hello"},
        {"start": 1.0, "end": 1.4, "text": "big"},
        {"start": 1.4, "end": 1.9, "text": "world"},
        {"start": 2.5, "end": 3.2, "text": "Bye"},
    ],
}


def units(expression: str) -> str:
    """Evaluate for each segment that is not whitespace; `s` is the segment, `c` its style."""
    return (
        "[...document.querySelectorAll('ef-text-segment')].filter(s => s.textContent.trim())"
        f".map(s => {{ const c = getComputedStyle(s); return {expression}; }})"
    )


OPACITY = units("Math.round(c.opacity * 1000) / 1000")
FOUR_WORDS = "Hello, big wide world!"


class TestText:
    def test_words_start_one_after_the_other(self, load: Load) -> None:
        text = f'<ef-text stagger="100ms" style="animation: fade 1s linear">{FOUR_WORDS}</ef-text>'
        screen = load(scene(text))
        assert screen.at(0, units("s.textContent")) == ["Hello,", "big", "wide", "world!"]
        offsets = screen.at(0, units("c.getPropertyValue('--ef-stagger-offset')"))
        assert offsets == ["0ms", "100ms", "200ms", "300ms"]
        # Without a fill mode a word that waits for its turn would flash up.
        assert screen.at(0, OPACITY) == [0, 0, 0, 0]
        assert screen.at(500, OPACITY) == [0.5, 0.4, 0.3, 0.2]
        assert screen.at(2000, OPACITY) == [1, 1, 1, 1]

    def test_the_easing_distributes_the_stagger_offsets(self, load: Load) -> None:
        text = f'<ef-text stagger="100ms" easing="steps(3, jump-end)">{FOUR_WORDS}</ef-text>'
        offsets = load(scene(text)).at(0, units("s.staggerOffsetMs"))
        assert offsets == [0, 100, 200, 300]
        text = text.replace("steps(3, jump-end)", "cubic-bezier(0, 0, 1, 0.5)")
        offsets = load(scene(text)).at(0, units("s.staggerOffsetMs"))
        assert offsets[0] == 0
        assert offsets[1] < 100
        assert offsets[2] < 200
        assert offsets[3] == 300

    @pytest.mark.parametrize(
        ("attributes", "text", "expected_ms"),
        [
            ('mode="contain"', "<ef-text id=t>a b c d</ef-text>", 4000),
            ('mode="sequence"', "<ef-text id=t>a b c</ef-text>", 3000),
            ('mode="contain"', '<ef-text id=t split="char">abc de</ef-text>', 5000),
            ('mode="contain"', '<ef-text id=t split="line">a b\nc d</ef-text>', 2000),
            ('mode="fixed" duration="7s"', "<ef-text id=t>a b c d</ef-text>", 7000),
            ('duration="7s"', "<ef-text id=t>a b c d</ef-text>", 7000),
            ('mode="contain"', '<ef-text id=t duration="2.5s">a b c d</ef-text>', 2500),
        ],
    )
    def test_the_duration_follows_from_the_mode_and_the_words(
        self, load: Load, attributes: str, text: str, expected_ms: int
    ) -> None:
        screen = load(scene(text, attributes))
        assert screen.at(0, "[root.durationMs, t.durationMs]") == [expected_ms, expected_ms]

    @pytest.mark.parametrize(
        "style",
        [
            "animation: fade 1s linear both; animation-delay: calc(var(--ef-word-index) * 100ms)",
            "animation: fade 1s linear calc(var(--ef-word-index) * 100ms) both",
        ],
    )
    def test_a_delay_written_inline_may_use_the_word_index(self, load: Load, style: str) -> None:
        screen = load(scene(f'<ef-text style="{style}">{FOUR_WORDS}</ef-text>'))
        assert screen.at(500, OPACITY) == [0.5, 0.4, 0.3, 0.2]

    def test_a_delay_in_a_rule_is_not_inherited_by_segments(self, load: Load) -> None:
        rule = "<style>.soft { animation: fade 1s linear 700ms both }</style>"
        screen = load(scene(f'{rule}<ef-text class="soft">a b</ef-text>'))
        assert screen.at(500, OPACITY) == [0.5, 0.5]

    def test_a_delay_that_uses_the_offset_does_not_count_twice(self, load: Load) -> None:
        rule = (
            "<style>ef-text-segment { animation: fade 1s linear both;"
            " animation-delay: var(--ef-stagger-offset) }</style>"
        )
        screen = load(scene(f'{rule}<ef-text stagger="100ms">a b c</ef-text>'))
        assert screen.at(500, OPACITY) == [0.5, 0.4, 0.3]

    def test_rules_for_segments_are_staggered_too(self, load: Load) -> None:
        rule = "<style>ef-text-segment { animation: fade 1s linear }</style>"
        screen = load(scene(f'{rule}<ef-text stagger="200ms">a b</ef-text>'))
        assert screen.at(100, OPACITY) == [0.1, 0]

    def test_characters_of_a_word_stay_on_one_line(self, load: Load) -> None:
        box = '<div style="width: 60px; font: 20px monospace">'
        screen = load(scene(f'{box}<ef-text split="char">abcd efgh</ef-text></div>'))
        tops = screen.at(0, units("s.getBoundingClientRect().top"))
        assert tops[:4] == [tops[0]] * 4
        assert tops[4:] == [tops[4]] * 4
        assert tops[4] > tops[0]
        indexes = screen.at(
            0, units("['--ef-index', '--ef-word-index'].map(n => +c.getPropertyValue(n))")
        )
        assert indexes[3] == [3, 0]
        assert indexes[4] == [4, 1]

    def test_segments_do_not_change_the_layout_of_the_text(self, load: Load) -> None:
        style = "font: 24px serif; width: 300px"
        plain = f"{FOUR_WORDS} and <br> more of it here"
        boxes = (
            f'<p id=a style="{style}"><span>{plain}</span></p>'
            f'<p id=b style="{style}"><ef-text>{plain}</ef-text></p>'
        )
        screen = load(scene(boxes))
        assert screen.at(0, "a.offsetHeight === b.offsetHeight") is True
        assert screen.at(0, "a.offsetHeight > 50") is True
        assert screen.at(0, "b.innerText.replace(/\\s+/g, ' ')") == screen.at(
            0, "a.innerText.replace(/\\s+/g, ' ')"
        )

    def test_a_template_is_cloned_for_each_unit(self, load: Load) -> None:
        template = (
            "<template><ef-text-segment class=back></ef-text-segment>"
            "<ef-text-segment class=front></ef-text-segment></template>"
        )
        screen = load(scene(f"<ef-text id=t>{template}one two</ef-text>"))
        shown = screen.at(0, units("s.className + ':' + s.textContent"))
        assert shown == ["back:one", "front:one", "back:two", "front:two"]

    def test_text_that_a_script_changes_is_split_again(self, load: Load) -> None:
        screen = load(scene("<ef-text id=t>one two</ef-text>", 'mode="contain"'))
        assert screen.at(0, "root.durationMs") == 2000
        screen.page.evaluate("t.textContent = 'now three words'")
        assert screen.at(100, units("s.textContent")) == ["now", "three", "words"]
        assert screen.at(100, "root.durationMs") == 3000
        screen.page.evaluate("t.append(' more')")
        assert screen.at(200, units("s.textContent")) == ["now", "three", "words", "more"]
        screen.page.evaluate("t.setAttribute('split', 'char')")
        assert len(screen.at(300, units("s.textContent"))) == len("nowthreewordsmore")

    def test_scripts_in_the_page_find_the_segments(self, load: Load) -> None:
        script = "<script>window.seen = t.segments.map(s => s.textContent)</script>"
        screen = load(scene(f"<ef-text id=t>one two</ef-text>{script}"))
        assert screen.at(0, "window.seen") == ["one", " ", "two"]

    def test_animations_registered_by_script(self, load: Load) -> None:
        script = (
            "<script>customElements.get('ef-text-segment').registerAnimations('pop',"
            " '@keyframes pop { from { opacity: 0 } } .pop { animation: pop 1s linear both }')"
            "</script>"
        )
        screen = load(scene(f"<ef-text class=pop>a</ef-text>{script}"))
        assert screen.at(200, OPACITY) == [0.2]

    def test_each_segment_has_a_seed_variable(self, load: Load) -> None:
        screen = load(scene("<ef-text>a b</ef-text>"))
        seeds = screen.at(0, units("+c.getPropertyValue('--ef-seed')"))
        assert seeds == [0, pytest.approx(153 / 233)]


PARTS = (
    "<ef-captions-before-active-word></ef-captions-before-active-word>"
    "<ef-captions-active-word></ef-captions-active-word>"
    "<ef-captions-after-active-word></ef-captions-after-active-word>"
    "<ef-captions-segment></ef-captions-segment>"
)
SHOWN = "[...captions.children].map(part => part.textContent)"


def in_milliseconds() -> dict[str, list[dict[str, Any]]]:
    return {
        kind: [
            {**cue, "start": round(cue["start"] * 1000), "end": round(cue["end"] * 1000)}
            for cue in cues
        ]
        for kind, cues in CAPTIONS.items()
    }


def with_nested_words() -> object:
    words = [
        {"word": cue["text"], "start": round(cue["start"] * 1000), "end": round(cue["end"] * 1000)}
        for cue in CAPTIONS["word_segments"]
    ]
    first, second = in_milliseconds()["segments"]
    return {"segments": [{**first, "words": words[:3]}, {**second, "words": words[3:]}]}


class TestCaptions:
    def inline(self, data: object) -> str:
        text = data if isinstance(data, str) else json.dumps(data)
        # The data comes after the element that names it, as people write it.
        return scene(
            f"<ef-captions id=captions captions-script=data>{PARTS}</ef-captions>"
            f'<script type="application/json" id=data>{text}</script>'
        )

    @pytest.mark.parametrize("data", [CAPTIONS, in_milliseconds(), with_nested_words()])
    def test_words_and_gaps_in_every_spelling_of_the_data(self, load: Load, data: object) -> None:
        screen = load(self.inline(data))
        assert screen.at(0, SHOWN) == ["", "", "", ""]
        assert screen.at(550, SHOWN) == ["", "", "Hello big world", "Hello big world"]
        assert screen.at(700, SHOWN) == ["", "Hello", " big world", "Hello big world"]
        assert screen.at(950, SHOWN) == ["Hello big world", "", "", "Hello big world"]
        assert screen.at(1200, SHOWN) == ["Hello ", "big", " world", "Hello big world"]
        assert screen.at(2200, SHOWN) == ["", "", "", ""]
        assert screen.at(2600, SHOWN) == ["", "Bye", "", "Bye"]

    def test_the_duration_is_that_of_the_captions(self, load: Load) -> None:
        screen = load(self.inline(CAPTIONS).replace('mode="fixed" duration="4s"', "mode=contain"))
        assert screen.at(0, "root.durationMs") == 3200

    def test_subtitles_given_inline(self, load: Load) -> None:
        screen = load(self.inline("WEBVTT\n\n00:01.000 --> 00:02.000\nHello there\n"))
        assert screen.at(500, SHOWN)[3] == ""
        assert screen.at(1500, SHOWN)[3] == "Hello there"

    def test_captions_from_an_address(self, load: Load, host: RecordingHost) -> None:
        host.captions = CAPTIONS
        element = '<ef-captions id=captions captions-src="https://media.example/a.vtt">'
        screen = load(scene(f"{element}{PARTS}</ef-captions>"))
        assert host.asked.count("/__framekiln/captions") == 1
        assert screen.at(700, SHOWN)[1] == "Hello"

    def test_captions_from_a_script(self, load: Load) -> None:
        script = f"<script>captions.captionsData = {json.dumps(CAPTIONS)}</script>"
        screen = load(scene(f"<ef-captions id=captions>{PARTS}</ef-captions>{script}"))
        assert screen.at(700, SHOWN)[1] == "Hello"

    def test_captions_follow_the_time_of_their_video(self, load: Load) -> None:
        video = '<ef-video src="https://media.example/talk.mp4" offset="1s"></ef-video>'
        rule = "<style>ef-captions-active-word { animation: fade 1s linear both }</style>"
        page = self.inline(CAPTIONS).replace("<ef-captions ", f"{video}<ef-captions ")
        screen = load(rule + page)
        assert screen.at(700, SHOWN)[1] == ""
        assert screen.at(1700, SHOWN)[1] == "Hello"
        opacity = "+getComputedStyle(captions.children[1]).opacity"
        assert screen.at(1800, opacity) == pytest.approx(0.2)

    def test_captions_show_nothing_before_and_after_their_video(self, load: Load) -> None:
        video = '<ef-video src="https://media.example/talk.mp4" offset="1s" duration="1s">'
        page = self.inline("WEBVTT\n\n00:00.000 --> 00:04.000\nHi\n")
        screen = load(page.replace("<ef-captions ", f"{video}</ef-video><ef-captions "))
        shown = [screen.at(ms, SHOWN)[3] for ms in (0, 950, 1000, 1950, 2000)]
        assert shown == ["", "", "Hi", "Hi", ""]

    def test_animations_of_the_active_word_restart_with_each_word(self, load: Load) -> None:
        rule = "<style>ef-captions-active-word { animation: fade 1s linear both }</style>"
        screen = load(rule + self.inline(CAPTIONS))
        opacity = "+getComputedStyle(captions.children[1]).opacity"
        assert screen.at(800, opacity) == pytest.approx(0.2)
        assert screen.at(1100, opacity) == pytest.approx(0.1)
        seed = "+getComputedStyle(captions.children[1]).getPropertyValue('--ef-word-seed')"
        assert screen.at(1100, seed) == pytest.approx(153 / 233)

    def test_empty_parts_are_hidden_whatever_their_display(self, load: Load) -> None:
        rule = "<style>ef-captions-active-word { display: block; padding: 9px }</style>"
        screen = load(rule + self.inline(CAPTIONS))
        assert screen.at(550, "captions.children[1].offsetHeight") == 0
        assert screen.at(700, "captions.children[1].offsetHeight") > 18

    @pytest.mark.parametrize(
        ("element", "words"),
        [
            ("<ef-captions id=c captions-script=nowhere>", ["ef-captions#c", "nowhere"]),
            (
                '<ef-captions id=c captions-src="https://media.example/missing.vtt">',
                ["ef-captions#c", "missing.vtt", "there is no such file"],
            ),
            ("<ef-captions id=c target=talk>", ["ef-captions#c", "talk", "no element"]),
            (
                '<div id="talk"></div><ef-captions id=c target=talk>',
                ["ef-captions#c", "file-id", "captions-src"],
            ),
        ],
    )
    def test_missing_captions_are_an_error(
        self, load: Load, element: str, words: list[str]
    ) -> None:
        with pytest.raises(PageThrew) as raised:
            load(scene(f"{element}</ef-captions>"))
        for word in words:
            assert word in str(raised.value)
