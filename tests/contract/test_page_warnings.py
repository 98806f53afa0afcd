"""A typical mistake in a page gets an answer that names the mistake."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from framekiln.capture.browser import Browser
from framekiln.capture.errors import PageThrew
from framekiln.capture.grabber import GrabMethod
from framekiln.capture.page import FrameSize
from framekiln.engine.assets import Assets, LocalAsset
from framekiln.engine.errors import ScriptMissing
from framekiln.engine.film_order import FilmOrder
from framekiln.engine.page.renderer import PageRenderer, open_page_renderer
from framekiln.engine.site import Site, SiteAssets
from framekiln.kit.errors import FramekilnError
from framekiln.kit.fetch import FetchFailed, FetchFailedPermanently
from framekiln.kit.warning_text import codes_by_text
from tests.support.timeouts import FILM_LIMITS

CDN = "https://cdn.example/gsap.min.js"
REASON = "cdn.example: the connection failed: no such host"
SMALL = {"width_px": 320, "height_px": 180, "fps": Fraction(10), "duration_ms": 300}
BLANK = '<!doctype html><html><body><div id="root"></div>{}</body></html>'
MAIN = '<script type="module" src="/src/main.tsx"></script>'


class Unreachable:
    """A world in which no server can be reached, or each answers with 404."""

    def fetch(self, url: str) -> LocalAsset:
        """Fail as the fetcher does."""
        if url.endswith("/gone"):
            raise FetchFailedPermanently("cdn.example: answered with status 404.", status=404)
        raise FetchFailed(REASON)


Open = Callable[..., Any]


@pytest.fixture
def opened(browser: Browser, tmp_path: Path) -> Open:
    """Open a page, inline or with files beside it, as a film of three frames."""

    @contextmanager
    def opened(
        html: str, files: Mapping[str, str] | None = None, **asked: Any
    ) -> Iterator[PageRenderer]:
        assets: Assets = Unreachable()
        site = None if files is None else Site(tmp_path)
        for name, text in (files or {}).items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
        if site is not None:
            assets = SiteAssets(site, assets)
        order = FilmOrder(html, assets=assets, site=site, **{**SMALL, **asked})
        # How pixels are taken does not matter here.
        order = replace(order, grabbing=GrabMethod.SCREENSHOT)
        with open_page_renderer(order, browser, FILM_LIMITS) as stage:
            yield stage

    return opened


def show_all(stage: PageRenderer) -> tuple[str, ...]:
    """Show every frame and return the warnings."""
    for number in range(stage.plan.timeline.frame_count):
        stage.page.show(number, stage.plan.timeline.frame_us(number))
    stage.page.raise_late_failure()
    return stage.warnings()


THROWING = {
    "while loading": "gsap.to('#a', { x: 100 })",
    "in a frame": "setTimeout(() => gsap.to('#a', { x: 100 }), 150)",
}


@pytest.mark.parametrize("script", THROWING.values(), ids=THROWING)
def test_a_script_that_did_not_load_is_named_as_the_cause(opened: Open, script: str) -> None:
    html = f'<p id=a>x</p><script src="{CDN}"></script><script>{script}</script>'
    with pytest.raises(PageThrew) as raised, opened(html) as stage:
        show_all(stage)
    cause = (
        f"the script {CDN} did not run: {REASON}; check its address, or put the script into the"
        " page or a bundle"
    )
    assert "ReferenceError: gsap is not defined. Likely cause: " + cause in raised.value.message
    assert raised.value.warnings == (cause,)


def test_a_failure_keeps_all_warnings_that_came_before_it(opened: Open) -> None:
    html = """<ef-txt>x</ef-txt><script>console.error("no", { a: 1 }, new TypeError("colour"));
    console.log("fine"); setTimeout(() => { throw new Error("late") }, 100)</script>"""
    with pytest.raises(PageThrew, match="Error: late") as raised, opened(html) as stage:
        show_all(stage)
    assert raised.value.warnings == (
        "ef-txt: there is no element <ef-txt>, so it is drawn like a <span>;"
        " did you mean <ef-text>?",
        "the page wrote to its console: no Object TypeError: colour",
    )
    codes = codes_by_text(raised.value.warnings)
    assert list(codes.values()) == ["unknown_element", "console_error"]


def test_console_errors_are_bounded_in_number_and_length(opened: Open) -> None:
    script = "for (let n = 0; n < 500; n += 1) console.error(n % 300, 'x'.repeat(5000))"
    with opened(f"<p>x</p><script>{script}</script>") as stage:
        warnings = stage.warnings()
    assert len(warnings) == 20
    assert max(map(len, warnings)) < 600


def test_warnings_contain_only_printable_text(opened: Open) -> None:
    script = r"console.error('a\0b\ud800c\u001bd'); setTimeout(() => { throw 'e\0f' }, 100)"
    with pytest.raises(PageThrew) as raised, opened(f"<p>x</p><script>{script}</script>") as stage:
        show_all(stage)
    assert raised.value.message.isprintable()
    assert raised.value.warnings == ("the page wrote to its console: a b c d",)


def test_a_fetch_to_a_host_that_cannot_be_reached_rejects(opened: Open) -> None:
    html = """<p>x</p><script>window.renderReady = Promise.all([
      fetch("https://dead.example/data.json").then(() => "answered", (error) => error.name),
      fetch("https://dead.example/gone").then(async (r) => [r.status, await r.text()]),
    ]).then((seen) => { window.seen = seen; })</script>"""
    with opened(html) as stage:
        assert stage.page.evaluate("seen") == ["TypeError", [404, ""]]
        assert f"https://dead.example/data.json could not be used: {REASON}" in stage.warnings()


def test_a_rejection_that_nothing_catches_is_a_warning(opened: Open) -> None:
    html = """<p>x</p><script>fetch("https://dead.example/data.json").then((r) => r.json());
    const late = Promise.reject(new Error("caught after all"));
    setTimeout(() => late.catch(() => {}), 50);
    setTimeout(() => Promise.reject(new RangeError("too far")), 100)</script>"""
    with opened(html) as stage:
        warnings = [text for text in show_all(stage) if text.startswith("a promise")]
    assert warnings == [
        "a promise of the page was rejected at line 1, column 17, and nothing caught it:"
        " TypeError: Failed to fetch",
        "a promise of the page was rejected at line 4, column 37, and nothing caught it:"
        " RangeError: too far",
    ]


LATE = {
    "fetch": "fetch(url)",
    "xhr": "{ const r = new XMLHttpRequest(); r.open('GET', url); r.send() }",
}


@pytest.mark.parametrize("request_it", LATE.values(), ids=LATE)
def test_a_request_after_frame_0_is_a_warning(opened: Open, request_it: str) -> None:
    script = f"const url = 'data.json?late'; setTimeout(() => {request_it}, 150)"
    early = "window.renderReady = fetch('data.json')"
    page = f"<p>x</p><script>{early}; {script}</script>"
    with opened(page, {"data.json": "{}"}) as stage:
        assert stage.warnings() == ()
        [warning] = show_all(stage)
    assert warning.startswith("a script requested http://127.0.0.1/data.json?late after frame 0: ")
    assert "window.renderReady" in warning


FRAMES = {
    "": ["iframe#f: the sound of its media is not in the film"],
    "sandbox": ["iframe#f: the sound of its media is not in the film"],
    "muted": [],
}


@pytest.mark.parametrize("kind", FRAMES)
def test_media_in_an_iframe_is_a_warning(opened: Open, kind: str) -> None:
    is_muted = "muted" if kind == "muted" else ""
    inner = f"<video {is_muted}></video>"
    sandbox = "" if is_muted else kind
    with opened(f'<iframe id=f {sandbox} srcdoc="{inner}"></iframe>') as stage:
        found = stage.warnings()
    assert [each.partition(",")[0] for each in found] == FRAMES[kind]


def test_a_page_of_the_bundle_inside_the_page_is_not_called_missing(opened: Open) -> None:
    html = "<iframe src=inner.html></iframe>"
    with opened(html, {"inner.html": "<p>x"}) as stage:
        [warning] = stage.warnings()
    assert warning.endswith("pages inside the page are not loaded; put its contents into the page")


MODULES = {"at once": "throw new Error('no')", "awaiting": "await 1; throw new Error('no')"}


@pytest.mark.parametrize("script", MODULES.values(), ids=MODULES)
def test_a_module_that_throws_fails_the_film(opened: Open, script: str) -> None:
    html = f"<script type=module>{script}</script>"
    with pytest.raises(PageThrew, match="Error: no"), opened(html):
        pass


UNKNOWN = """<ef-timegroup duration="1s"><ef-vidio></ef-vidio><ef-text druation="1s">x</ef-text>
<ef-image file_id="x"></ef-image><ef-image file_id="y"></ef-image>
<ef-captions split="chars"></ef-captions><ef-text id=t split="chars">x</ef-text></ef-timegroup>"""


def test_an_unknown_name_is_a_warning_with_a_suggestion(opened: Open) -> None:
    with opened(UNKNOWN) as stage:
        assert stage.warnings() == (
            "ef-vidio: there is no element <ef-vidio>, so it is drawn like a <span>;"
            " did you mean <ef-video>?",
            "ef-text:nth-of-type(1): there is no attribute druation, so it has no effect;"
            " did you mean duration?",
            "ef-image:nth-of-type(1): there is no attribute file_id, so it has no effect;"
            " did you mean file-id?",
            "ef-captions: there is no attribute split, so it has no effect",
            'ef-text#t: split="chars" is none of word, char, line; did you mean char?',
        )
        codes = list(codes_by_text(stage.warnings()).values())
    assert codes == ["unknown_element", *["unknown_attribute"] * 3, "unknown_value"]


UNREAD_VALUES = """<ef-timegroup duration="1s" fps="fast">
<ef-audio id="a" volume="50%"></ef-audio>
<ef-audio id="b" volume="0.5" fft-size="big"></ef-audio><ef-text id="t" easing="bouncy">x</ef-text>
<ef-pan-zoom x="4px" scale="150%"></ef-pan-zoom></ef-timegroup>"""


def test_a_value_that_is_not_understood_is_a_warning(opened: Open) -> None:
    with opened(UNREAD_VALUES) as stage:
        assert stage.warnings() == (
            'ef-timegroup: fps="fast" is no number, so it has no effect',
            'ef-audio#a: volume="50%" is no number, so it has no effect',
            'ef-audio#b: fft-size="big" is no number, so it has no effect',
            'ef-text#t: easing="bouncy" is none of linear, ease, ease-in, ease-out, ease-in-out,'
            " step-start, step-end, cubic-bezier(...), steps(...), linear(...)",
            'ef-pan-zoom: scale="150%" is no number, so it has no effect',
        )


KNOWN = """<ef-configuration api-host="x"><ef-preview foo="1"><ef-timegroup id="a" class="b"
 style="color: red" title="t" data-any="1" aria-label="l" role="img" onclick="1" v-if="x"
 @click="y" :key="z" x-data="{}" _ngcontent-abc-1 slot="s" part="p" duration="1s" mode="fixed"
 overlap="0s" fps="30" auto-init workbench fit="none" start-offset="0s" loop>
 <ef-text split="char" stagger="10ms" easing="ease-out" motion-blur blur-samples="3"
 trimstart="0s" source-out="1s">x</ef-text><ef-pan-zoom x="1" y="1" scale="1"
 auto-fit></ef-pan-zoom>
 <ef-motionblur shutter-angle="180" fps="30" sensitivity="1" threshold="1" angle="0" amount="1">
 </ef-motionblur><ef-captions captions-script="c" word-style="x" target="a"></ef-captions>
 <ef-controls some="thing"></ef-controls></ef-timegroup></ef-preview></ef-configuration>
 <script type="application/json" id="c">{"segments": []}</script>"""


def test_attributes_of_frameworks_cause_no_warning(opened: Open) -> None:
    with opened(KNOWN) as stage:
        assert stage.warnings() == ()


UNREADABLE = {
    "a length": ('<ef-timegroup duration="three seconds">', 'ef-timegroup: duration="three seco'),
    "a source": ('<ef-video id=v sourcein="1:30">', 'ef-video#v: sourcein="1:30"'),
    "a pinned time": ('<ef-video current-time="now">', 'ef-video: current-time="now"'),
    "between words": ('<ef-text id=t stagger="soon">x', 'ef-text#t: stagger="soon"'),
}


@pytest.mark.parametrize(("html", "said"), UNREADABLE.values(), ids=UNREADABLE)
def test_a_time_that_cannot_be_read_fails_the_film(opened: Open, html: str, said: str) -> None:
    with pytest.raises(PageThrew) as raised, opened(html):
        pass
    assert raised.value.message.startswith(said)
    assert "is not a time: write 3s, 500ms, 2m, 1h, or a bare" in raised.value.message


UNBUILT = {
    "typescript": (
        {"src/main.tsx": "const a: number = 1"},
        "browsers do not run .tsx files; build",
    ),
    "not there": ({}, "the bundle has no file /src/main.tsx; add it"),
}


@pytest.mark.parametrize(("files", "why"), UNBUILT.values(), ids=UNBUILT)
def test_a_page_left_blank_by_a_missing_script_fails(
    opened: Open, files: dict[str, str], why: str
) -> None:
    with pytest.raises(ScriptMissing) as raised, opened(BLANK.format(MAIN), files):
        pass
    said = "nothing is drawn, because the script /src/main.tsx did not run: "
    assert raised.value.message.startswith(said + why)


def test_a_module_whose_import_is_no_script_is_named(opened: Open) -> None:
    main = {"main.js": "import './style.css'", "style.css": "p { color: red }"}
    html = BLANK.format('<script type="module" src="main.js"></script>')
    message = r"/main\.js did not run: it, or something it imports, is not JavaScript"
    with pytest.raises(ScriptMissing, match=message), opened(html, main):
        pass


def test_a_package_by_name_gets_the_remedy(opened: Open) -> None:
    html = BLANK.format('<script type="module">import "react"</script>')
    with pytest.raises(PageThrew, match=r'"react".*npm run build.*import map'), opened(html):
        pass


DRAWN = {
    "text": f"<p>Loading</p>{MAIN}",
    "a background": f"<style>body {{ background: teal }}</style>{MAIN}",
    "another script's work": f"{MAIN}<script>document.body.append(new Image(1, 1))</script>",
    "somebody else's script": f'<script src="{CDN}"></script>',
}


@pytest.mark.parametrize("html", DRAWN.values(), ids=DRAWN)
def test_a_script_that_did_not_run_is_a_warning_where_something_is_drawn(
    opened: Open, html: str
) -> None:
    with opened(BLANK.format(html), {}) as stage:
        (warning,) = stage.warnings()
    assert warning.startswith("the script ")
    assert " did not run: " in warning


POSITIONS = {
    "first line": ("abc<script>nonsense()</script>", "line 1, column 12"),
    "further line": ("<p>\n<script>\n   nonsense()</script>", "line 3, column 4"),
    "after other letters": ("😀<script>nonsense()</script>", "line 1, column 11"),
    "whole document": ("<!doctype html><script>nonsense()</script>", "line 1, column 24"),
    "frame task": (
        "<ef-timegroup id=g duration=1s></ef-timegroup>\n"
        "<script>g.addFrameTask(() => nonsense())</script>",
        "line 2, column 30",
    ),
    "syntax": ("<p>\n<script>const = 1</script>", "line 2, column 15"),
}


@pytest.mark.parametrize(("html", "place"), POSITIONS.values(), ids=POSITIONS)
def test_positions_in_errors_are_those_of_the_authors_text(
    opened: Open, html: str, place: str
) -> None:
    with pytest.raises(PageThrew) as raised, opened(html) as stage:
        show_all(stage)
    assert f"threw at {place}: " in raised.value.message


def test_an_error_in_a_file_of_a_bundle_names_the_file(opened: Open) -> None:
    html = BLANK.format('<script src="js/app.js"></script>')
    files = {"js/app.js": "\n  nonsense()"}
    message = r"threw at line 2, column 3 of /js/app\.js: ReferenceError"
    with pytest.raises(PageThrew, match=message), opened(html, files):
        pass


UNSIZED: dict[str, tuple[str, FrameSize, int]] = {
    "no size": (
        '<!doctype html><body><ef-timegroup duration="1s" class="flex">Hi</ef-timegroup>',
        FrameSize(1280, 720),
        0,
    ),
    "around a sized one": (
        '<ef-timegroup><ef-timegroup duration="1s" class="w-[640px] h-[360px]"></ef-timegroup>',
        FrameSize(1280, 720),
        0,
    ),
    "only a width, around others": (
        '<ef-timegroup class="w-[640px]"><ef-timegroup duration="1s"></ef-timegroup>',
        FrameSize(640, 720),
        1,
    ),
    "a ratio": (
        '<ef-timegroup duration="1s" class="w-[640px] aspect-video">',
        FrameSize(640, 360),
        0,
    ),
    "a height by its content": (
        '<ef-timegroup duration="1s" class="w-[640px]"><p class="h-[360px]">x</p>',
        FrameSize(640, 360),
        0,
    ),
    "a box around it": (
        '<div style="width: 640px"><ef-timegroup duration="1s"><p class="h-[360px]">x</p>',
        FrameSize(640, 360),
        0,
    ),
}


@pytest.mark.spec("4.3")
@pytest.mark.parametrize(("html", "size", "warnings"), UNSIZED.values(), ids=UNSIZED)
def test_a_root_group_without_a_size_fills_the_window(
    opened: Open, html: str, size: FrameSize, warnings: int
) -> None:
    with opened(html, width_px=None, height_px=None) as stage:
        assert stage.plan.size == size
        assert len([text for text in stage.warnings() if "has no height" in text]) == warnings


def test_a_root_group_without_a_size_has_the_size_of_the_request(opened: Open) -> None:
    with opened('<ef-timegroup id=g duration="1s"><h1>Hi</h1></ef-timegroup>') as stage:
        assert stage.page.evaluate("[g.clientWidth, g.clientHeight]") == [320, 180]


FONTS = {
    "not installed": (
        "<p id=a style=\"font-family: 'No Such Face', monospace\">x</p>",
        "p#a: the font No Such Face is not installed, monospace is used instead; load it as a web",
    ),
    "and nothing else": (
        '<p style="font-family: Nowhere">x</p><p style="font-family: nowhere">y</p>',
        "p:nth-of-type(1): the font Nowhere is not installed, the default font is used instead;",
    ),
    "a web font that cannot be had": (
        "<style>@font-face { font-family: Brand; src: url(https://cdn.example/b.woff2) }</style>"
        '<p style="font-family: Brand, serif">x</p>',
        "p: the web font Brand could not be loaded, serif is used instead; check its address",
    ),
}


@pytest.mark.parametrize(("html", "said"), FONTS.values(), ids=FONTS)
def test_a_missing_font_is_a_warning(opened: Open, html: str, said: str) -> None:
    with opened(html) as stage:
        found = [text for text in stage.warnings() if " font " in text]
    assert [text[: len(said)] for text in found] == [said]


FINE = """<p style="font-family: sans-serif">x</p><p style="font-family: 'DejaVu Sans', No">x</p>
<p style="font-family: -apple-system, 'Segoe UI', Nowhere">x</p><p style="font-family: Unused"> </p>
<p style="font-family: ui-sans-serif, system-ui, sans-serif">x</p>"""


def test_installed_and_unused_fonts_cause_no_warning(opened: Open) -> None:
    with opened(FINE) as stage:
        assert stage.warnings() == ()


def test_errors_of_other_kinds_keep_warnings_too(opened: Open) -> None:
    html = '<ef-txt></ef-txt><img id=i src="picture.png">'
    with pytest.raises(FramekilnError, match="img#i") as raised, opened(html):
        pass
    assert any("<ef-text>" in warning for warning in raised.value.warnings)
