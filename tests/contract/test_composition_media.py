"""Video, sound and images in a real page: which source frame is seen when, and what is planned."""

import numpy as np
import pytest

from framekiln.capture.browser import Browser
from framekiln.capture.errors import PageThrew
from tests.support.compositions import (
    CLIP,
    PICTURE,
    SONG,
    STORED,
    LoadedComposition,
    load_composition,
)
from tests.support.frame_codes import read_frame_code

RED_PIXEL = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLv"
    "AAAAAElFTkSuQmCC"
)


def group(content: str, attributes: str = 'duration="2s"') -> str:
    style = "width:320px;height:240px;background:#fff"
    return f'<ef-timegroup id="root" style="{style}" {attributes}>{content}</ef-timegroup>'


def boxes(film: LoadedComposition, selector: str) -> list[float]:
    box = f"document.querySelector('{selector}').getBoundingClientRect()"
    return film.page.evaluate(f"(({{ x, y, width, height }}) => [x, y, width, height])({box})")


def test_every_frame_shows_its_source_frame(browser: Browser) -> None:
    clip = f'<ef-video src="{CLIP}" sourcein="1s" sourceout="2s"></ef-video>'
    with load_composition(browser, group(clip, 'mode="sequence"')) as film:
        assert [film.code(n) for n in range(30)] == list(range(30, 60))


def test_a_stored_file_is_requested_by_its_id(browser: Browser) -> None:
    for name in ("file-id", "asset-id", "fileId"):
        clip = f'<ef-video {name}="{STORED}"></ef-video>'
        with load_composition(browser, group(clip)) as film:
            assert film.facts.plan["media"][0]["fileId"] == STORED
            assert film.code(4) == 4


def test_a_longer_duration_holds_the_last_frame_of_the_source(browser: Browser) -> None:
    clip = f'<ef-video src="{CLIP}" sourceout="500ms" duration="2s"></ef-video>'
    with load_composition(browser, group(clip, "")) as film:
        assert film.facts.duration_ms == 2000
        assert [film.code(n) for n in (14, 15, 59)] == [14, 14, 14]
        (planned,) = film.facts.plan["media"]
        assert (planned["endMs"], planned["sourceOutMs"]) == (2000, 500)
        # The picture that is held is not asked for again.
        assert len(film.host.asked) <= 2


def test_current_time_shows_one_frame_without_sound(browser: Browser) -> None:
    clip = f'<ef-video src="{CLIP}" current-time="1s" duration="2s"></ef-video>'
    with load_composition(browser, group(clip, "")) as film:
        assert [film.code(n) for n in (0, 30)] == [30, 30]
        assert film.facts.plan["media"][0]["gain"] == 0


SIZES = {
    "natural": ("", [0, 0, 320, 240], (320, 240)),
    "width": ("width:160px", [0, 0, 160, 120], (160, 120)),
    "height": ("height:60px", [0, 0, 80, 60], (80, 60)),
    "both": ("width:160px;height:200px", [0, 0, 160, 200], (160, 120)),
    "cover": ("width:80px;height:120px;object-fit:cover", [0, 0, 80, 120], (160, 120)),
    "inset": ("position:absolute;inset:60px 80px", [80, 60, 160, 120], (160, 120)),
    "scaled": ("width:160px;scale:2;transform-origin:0 0", [0, 0, 320, 240], (320, 240)),
}


@pytest.mark.parametrize(("style", "box", "asked"), SIZES.values(), ids=SIZES)
def test_the_size_of_a_video_follows_its_style(
    browser: Browser, style: str, box: list[float], asked: tuple[int, int]
) -> None:
    with load_composition(
        browser, group(f'<ef-video src="{CLIP}" style="{style}"></ef-video>')
    ) as film:
        film.frame(0)
        assert boxes(film, "ef-video") == box
        assert film.host.asked[-1][1:] == asked


def test_12_gains_and_mutes_are_planned(browser: Browser) -> None:
    sounds = "".join(
        f'<ef-audio src="{SONG}" {more}></ef-audio>'
        for more in (
            "",
            "mute",
            "muted",
            'mute="false"',
            'volume="0.3"',
            'volume="-2"',
            'volume="x"',
        )
    )
    with load_composition(browser, group(sounds)) as film:
        assert [m["gain"] for m in film.facts.plan["media"]] == [1, 0, 0, 1, 0.3, 0, 1]
        assert {m["kind"] for m in film.facts.plan["media"]} == {"audio"}


def test_13_sound_is_cut_to_the_windows_around_it(browser: Browser) -> None:
    song = f'<ef-audio src="{SONG}"></ef-audio>'
    late = f'<ef-audio src="{SONG}" offset="500ms"></ef-audio>'
    scenes = (
        f'<ef-timegroup duration="1s">{song}</ef-timegroup>'
        f'<ef-timegroup duration="3s">{late}</ef-timegroup>'
        f'<ef-audio src="{SONG}" mode="fit"></ef-audio>'
    )
    with load_composition(browser, group(scenes, 'mode="sequence"')) as film:
        assert film.facts.duration_ms == 4000
        windows = [(m["startMs"], m["endMs"], m["sourceInMs"]) for m in film.facts.plan["media"]]
        assert windows == [(0, 1000, 0), (1500, 4000, 0), (0, 4000, 0)]


def test_21_an_image_from_a_data_url(browser: Browser) -> None:
    image = f'<ef-image src="{RED_PIXEL}" style="width:100%;height:100%"></ef-image>'
    with load_composition(browser, group(image)) as film:
        picture = film.frame(0)
        # Contained: a square in the middle of the frame.
        assert picture[120, 160].tolist() == [255, 0, 0]
        assert picture[120, 10].tolist() == [255, 255, 255]


def test_a_surface_mirrors_its_target(browser: Browser) -> None:
    style = "position:absolute;width:160px;height:120px"
    for named in ('target="v"', 'for="v"', 'target="#v"'):
        content = (
            f'<ef-video id="v" src="{CLIP}" style="{style};left:0"></ef-video>'
            f'<ef-surface {named} style="{style};left:160px"></ef-surface>'
        )
        with load_composition(browser, group(content)) as film:
            picture = film.frame(7)
            assert read_frame_code(picture[:120, :160]) == 7
            assert read_frame_code(picture[:120, 160:]) == 7


def test_a_target_that_is_not_there_is_a_warning(browser: Browser) -> None:
    captions = '<ef-captions target="lost" captions-script="c"></ef-captions>'
    script = '<script type="application/json" id="c">{"segments": []}</script>'
    content = captions + script + '<ef-surface target="gone"></ef-surface>'
    with load_composition(browser, group(content)) as film:
        found = [(each["code"], each["text"]) for each in film.facts.plan["warnings"]]
        assert found == [
            ("unknown_target", 'ef-captions target="lost": there is no element with that id'),
            ("unknown_target", 'ef-surface target="gone": there is no element with that id'),
        ]


NATIVE = {
    "in a group": group(f'<video src="{CLIP}" style="width:100%"></video>'),
    "in a clipped box": group(
        f'<div style="overflow:hidden"><video width="320" src="{CLIP}"></video></div>'
    ),
    "in a page": (
        f'<div style="display:flex"><video autoplay style="width:320px"><source src="{CLIP}">'
        "</video></div>"
    ),
    "played by a script": (
        f'<video id="v" width="320"></video><script>v.src = "{CLIP}"; v.play()</script>'
    ),
}


@pytest.mark.parametrize("html", NATIVE.values(), ids=NATIVE)
def test_a_native_video_shows_its_source_frame(browser: Browser, html: str) -> None:
    with load_composition(browser, html) as film:
        assert [film.code(n) for n in (0, 1, 17)] == [0, 1, 17]
        (planned,) = film.facts.plan["media"]
        assert (planned["src"], planned["startMs"], planned["gain"]) == (CLIP, 0, 1)


def test_native_elements_show_stored_files(browser: Browser) -> None:
    content = (
        f'<video file-id="{STORED}" style="width:160px;height:120px"></video>'
        f'<img file-id="{PICTURE}" style="position:absolute;left:160px;width:160px;height:120px">'
    )
    with load_composition(browser, group(content)) as film:
        picture = film.frame(7)
        assert read_frame_code(picture[:120, :160]) == 7
        assert picture[60, 240].tolist() == [255, 0, 0]
        (planned,) = film.facts.plan["media"]
        assert (planned["src"], planned["fileId"]) == (None, STORED)


def test_captions_of_a_stored_file_follow_its_own_time(browser: Browser) -> None:
    content = (
        f'<ef-video id="talk" file-id="{STORED}" sourcein="500ms" sourceout="2s"></ef-video>'
        '<ef-captions id="c" target="talk"><ef-captions-active-word></ef-captions-active-word>'
        "</ef-captions>"
    )
    with load_composition(browser, group(content, 'mode="contain"')) as film:
        assert film.facts.plan["durationMs"] == 1500, "what is not shown makes no film longer"
        said = "document.querySelector('ef-captions-active-word').textContent"
        # One second of the source is half a second of the film.
        assert [film.at(n, said).strip() for n in (0, 14, 16, 30)] == ["one", "one", "two", "two"]


def test_a_native_video_keeps_its_style(browser: Browser) -> None:
    style = (
        "<style>@keyframes go { to { transform: translateX(100px) } }"
        "#v { width: 50%; margin: 10px; border: 5px solid red; animation: go 2s linear }</style>"
    )
    with load_composition(browser, style + group(f'<video id="v" src="{CLIP}"></video>')) as film:
        picture = film.frame(0)
        assert boxes(film, "#v + canvas") == [10, 10, 170, 130]
        assert read_frame_code(picture[15:135, 15:175]) == 0
        assert picture[12, 100].tolist() == [255, 0, 0]
        film.frame(30)
        assert boxes(film, "#v + canvas") == [60, 10, 170, 130]


def test_a_paused_native_video_shows_its_first_frame(browser: Browser) -> None:
    html = f'<html data-duration-ms="2000"><video width="320" src="{CLIP}"></video>'
    with load_composition(browser, html) as film:
        assert [film.code(n) for n in (0, 30)] == [0, 0]
        assert film.facts.plan["media"][0]["gain"] == 0


def test_each_turn_of_a_loop_is_planned(browser: Browser) -> None:
    html = group(f'<audio loop src="{SONG}"></audio>', 'duration="25s"')
    with load_composition(browser, html) as film:
        turns = [(m["startMs"], m["endMs"], m["sourceInMs"]) for m in film.facts.plan["media"]]
        assert turns == [(0, 10_000, 0), (10_000, 20_000, 0), (20_000, 25_000, 0)]


def test_a_script_may_draw_a_native_video(browser: Browser) -> None:
    html = f"""<canvas width=320 height=240></canvas><script>
      const video = document.createElement("video"); video.src = "{CLIP}"; video.play();
      const pen = document.querySelector("canvas").getContext("2d");
      requestAnimationFrame(function f() {{ pen.drawImage(video, 0, 0); requestAnimationFrame(f) }})
    </script>"""
    with load_composition(browser, html) as film:
        assert [film.code(n) for n in (0, 5)] == [0, 5]


NAMED = {
    '<ef-video id="x" src="clip.mp4"></ef-video>': r'ef-video#x: src="clip.mp4" is relative',
    '<ef-image src="/a.png"></ef-image>': r'ef-image: src="/a.png" is relative',
    '<ef-audio src="file:///a.mp3"></ef-audio>': r'ef-audio: src="file:///a.mp3" cannot be reached',
    '<p></p><p><video src="b.mp4"></video></p>': r'video: src="b.mp4" is relative',
    '<ef-video src="https://media.example/gone.mp4"></ef-video>': (
        r'ef-video: src="https://media.example/gone.mp4": no such media'
    ),
    f'<ef-image file-id="{STORED}"></ef-image>': rf'ef-image: file-id="{STORED}" could not be',
}


@pytest.mark.parametrize(("content", "words"), NAMED.items(), ids=NAMED.values())
def test_30_missing_media_is_named(browser: Browser, content: str, words: str) -> None:
    with pytest.raises(PageThrew, match=words), load_composition(browser, group(content)):
        pass


def test_relative_addresses_are_resolved_against_the_base(browser: Browser) -> None:
    html = '<!doctype html><html><head><base href="https://media.example/"></head><body>' + group(
        '<ef-video src="clip.mp4"></ef-video>'
    )
    with load_composition(browser, html) as film:
        assert film.facts.plan["media"][0]["src"] == CLIP
        assert film.code(3) == 3


def test_initializers_run_after_late_media_is_known(browser: Browser) -> None:
    html = group(f'<ef-video src="{CLIP}"></ef-video>', "") + (
        "<script>root.initializer = (it) => { it.dataset.length = it.durationMs }</script>"
    )
    with load_composition(browser, html) as film:
        assert film.page.evaluate("root.dataset.length") == "10000"
        assert np.isclose(film.facts.duration_ms or 0, 10_000)
