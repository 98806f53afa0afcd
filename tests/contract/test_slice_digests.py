"""When slices of two films are taken for equal, and that they are equal then, byte for byte."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from framekiln.capture.browser import Browser
from framekiln.engine.film import FilmRenderer, open_renderer
from framekiln.engine.film_order import FilmLimits, FilmOrder, PageMethod
from framekiln.engine.film_plan import FilmDigests, FilmSlice, cut_slices
from framekiln.engine.layers.renderer import LayerRenderer
from tests.support.layer_films import config_of, open_layer_film
from tests.support.layer_media import (
    BROKEN,
    CAPTIONS,
    CLIP,
    FLAT,
    GIF,
    NTSC,
    STILL,
    TONE,
    image,
    layer_media,
    moving_square,
    rect,
    video,
)
from tests.support.local_assets import MEDIA_ORIGIN, LocalAssets
from tests.support.stock_media import stock_makers

LENGTH_S = 8
RED, GREEN = "#FF0000", "#00FF00"
BOX = (10.0, 10.0, 60.0, 40.0)


@pytest.fixture(scope="module")
def media(tmp_path_factory: pytest.TempPathFactory) -> LocalAssets:
    return layer_media(tmp_path_factory.mktemp("media"))


@contextmanager
def renderer_of(
    media: LocalAssets, *layers: dict[str, Any], browser: Browser | None = None, **top: Any
) -> Iterator[LayerRenderer]:
    config = config_of(*layers, **{"duration": LENGTH_S, "fps": 10, **top})
    with open_layer_film(config, browser, media) as film:
        yield film.renderer


def digests(
    media: LocalAssets, *layers: dict[str, Any], browser: Browser | None = None, **top: Any
) -> FilmDigests:
    with renderer_of(media, *layers, browser=browser, **top) as stage:
        return stage.digests(cut_slices(stage.plan.timeline))


def base() -> dict[str, Any]:
    return video(id="v", loop=True)


@pytest.mark.parametrize(
    "other",
    [
        {"id": "renamed"},
        {"name": "Anna"},
        {"audio": {"volume": 0.3}},
        {"onError": "skip"},
        {"fallbackFile": STILL},
    ],
    ids=str,
)
def test_invisible_properties_do_not_change_slice_digests(
    media: LocalAssets, other: dict[str, Any]
) -> None:
    assert digests(media, base()).slices == digests(media, {**base(), **other}).slices


@pytest.mark.parametrize(
    "other",
    [
        {"file": NTSC},
        {"opacity": 0.5},
        {"trim": {"start": 0.5}},
        {"speed": 2},
        {"timeline": {"start": 0.1}},
        {"position": {"x": 2}},
        {"position": {"angle": 1}},
        {"size": {"scale": 0.9}},
        {"size": {"flip": "x"}},
        {"size": {"borderRadius": 5}},
        {"filters": [{"name": "brightness", "options": {"brightness": 120}}]},
        {"chromaKey": {"color": RED}},
    ],
    ids=str,
)
def test_visible_properties_change_slice_digests(media: LocalAssets, other: dict[str, Any]) -> None:
    plain, changed = digests(media, base()), digests(media, {**base(), **other})
    assert all(one != two for one, two in zip(plain.slices, changed.slices, strict=True))


@pytest.mark.parametrize(
    "top",
    [
        {"backgroundColor": RED},
        {"dimensions": {"width": 322, "height": 240}},
        {"fps": 5},
        {"output": {"crf": 20}},
        {"preset": "draft"},
    ],
    ids=str,
)
def test_properties_of_the_film_change_all_slice_digests(
    media: LocalAssets, top: dict[str, Any]
) -> None:
    assert set(digests(media, base()).slices).isdisjoint(digests(media, base(), **top).slices)


def test_a_layer_changes_only_the_slices_that_show_it(media: LocalAssets) -> None:
    first = rect(RED, BOX, trim={"end": 3})
    plain = digests(media, base()).slices
    over = digests(media, base(), first).slices
    hidden = digests(media, base(), {**first, "visible": False}).slices
    assert (over[0] == plain[0], over[1] == plain[1]) == (False, True)
    assert hidden == plain


def test_a_fade_changes_only_the_slice_that_contains_it(media: LocalAssets) -> None:
    fade = [{"type": "fadeIn", "duration": 1}]
    one = digests(media, rect(RED, BOX, transitions=fade)).slices
    two = digests(media, rect(RED, BOX)).slices
    assert (one[0] == two[0], one[1] == two[1]) == (False, True)


def test_the_order_of_layers_changes_digests(media: LocalAssets) -> None:
    red, green = rect(RED, BOX, id="r"), rect(GREEN, BOX, id="g")
    assert digests(media, red, green).slices[0] != digests(media, green, red).slices[0]


def test_children_of_groups_change_only_the_slices_that_show_them(media: LocalAssets) -> None:
    def group(colour: str) -> dict[str, Any]:
        inner = rect(colour, BOX, id="inner", trim={"end": 3})
        return {"id": "g", "type": "group", "layers": [base(), inner]}

    one, two = digests(media, group(RED)).slices, digests(media, group(GREEN)).slices
    assert (one[0] == two[0], one[1] == two[1]) == (False, True)


def test_equal_slices_of_one_film_have_equal_digests(media: LocalAssets) -> None:
    found = digests(media, image(STILL), duration=16).slices
    assert len(set(found)) == 1
    turning = digests(media, image(GIF), duration=16).slices
    assert len(set(turning)) == 4


@pytest.mark.parametrize(
    "layer",
    [
        {"audio": {"volume": 0.3}},
        {"timeline": {"start": 1}},
        {"file": NTSC},
    ],
    ids=str,
)
def test_the_audio_digest_depends_on_audio_layers_only(
    media: LocalAssets, layer: dict[str, Any]
) -> None:
    sound = digests(media, base()).sound
    assert sound is not None
    assert sound == digests(media, base(), image(FLAT)).sound
    assert sound != digests(media, {**base(), **layer}).sound


def test_a_waveform_of_the_mix_depends_on_the_audio(media: LocalAssets) -> None:
    wave = {"id": "w", "type": "waveform", "size": {"width": 100, "height": 50}}
    tone = {"id": "t", "type": "audio", "file": TONE}
    loud, soft = (
        digests(media, wave, {**tone, "audio": {"volume": volume}}).slices for volume in (1, 0.5)
    )
    assert set(loud).isdisjoint(soft)


def test_text_changes_the_digests_of_the_slices_that_show_it(
    media: LocalAssets, browser: Browser
) -> None:
    def text(words: str, **more: Any) -> dict[str, Any]:
        return {"id": "t", "type": "text", "text": {"text": words, "fontSize": 20}, **more}

    plain = digests(media, text("Anna"), browser=browser).slices
    assert plain == digests(media, text("Anna", name="n"), browser=browser).slices
    # Beside another text, which is drawn on the same sheet.
    late = {"id": "x", "timeline": {"start": 5}}
    beside = digests(media, text("Anna"), text("Bob", **late), browser=browser).slices
    assert (plain[0] == beside[0], plain[1] == beside[1]) == (True, False)
    assert set(plain).isdisjoint(digests(media, text("Anne"), browser=browser).slices)


def page(body: str) -> dict[str, Any]:
    return {"id": "p", "type": "html", "html": {"page": {"body": body}}}


@pytest.mark.parametrize(
    ("layer", "is_sure"),
    [
        (page("<p>Hi</p>"), True),
        (page("<p>Hi</p><script>1</script>"), False),
        (page("<p onclick='1'>Hi</p>"), False),
        (page("<iframe srcdoc='Hi'></iframe>"), False),
        ({"id": "p", "type": "html", "html": {"url": "https://media.test/p"}}, False),
        ({"id": "l", "type": "lottie", "lottie": moving_square()}, True),
        ({"id": "l", "type": "lottie", "lottie": {**moving_square(), "x": "time"}}, False),
        ({"id": "c", "type": "subtitles", "file": CAPTIONS}, True),
        ({"id": "l", "type": "lottie", "file": BROKEN, "onError": "placeholder"}, True),
    ],
    ids=[
        "page",
        "script",
        "handler",
        "frame",
        "elsewhere",
        "lottie",
        "expression",
        "captions",
        "placeholder",
    ],
)
def test_only_cacheable_layers_have_digests(
    media: LocalAssets, browser: Browser, layer: dict[str, Any], *, is_sure: bool
) -> None:
    found = digests(media, layer, browser=browser, duration=1).slices
    assert (None not in found) == is_sure


def test_slices_with_equal_digests_have_equal_bytes(media: LocalAssets, tmp_path: Path) -> None:
    """Filmed alone, or after another slice of another film that has more in it."""
    over = rect(RED, BOX, trim={"end": 3})
    kenburns = image(STILL, id="i", size={"width": 80, "height": 60}, position={"angle": 5})
    films = []
    for number, layers in enumerate([(base(), kenburns, over), (base(), kenburns)]):
        with renderer_of(media, *layers) as stage:
            slices = cut_slices(stage.plan.timeline)
            wanted = slices if number == 0 else slices[1:]
            for slice_ in wanted:
                path = tmp_path / f"{number}-{slice_.number}.mp4"
                stage.render_slice(slice_, path, lambda _number: None)
            films.append((stage.digests(slices[1:]).slices, path.read_bytes()))
            assert stage.is_cacheable
    assert films[0] == films[1]


def test_changed_content_at_the_same_url_changes_digests(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    found = []
    for source in (CLIP, NTSC):
        folder = tmp_path_factory.mktemp("media")
        assets = layer_media(folder)
        (folder / "clip.mp4").write_bytes(assets.fetch(source).path.read_bytes())
        found.append(digests(assets, base()))
    assert set(found[0].slices).isdisjoint(found[1].slices)
    assert found[0].sound != found[1].sound


@contextmanager
def page_of(
    browser: Browser, folder: Path, body: str, *, data: str | None = None, still: str = "red"
) -> Iterator[FilmRenderer]:
    """Open a page whose picture, always at the same address, has a colour."""
    picture = f"<svg xmlns='http://www.w3.org/2000/svg'><rect fill='{still}'/></svg>"
    names = ("shown.svg", "late.svg")
    assets = LocalAssets(folder, {name: lambda path: path.write_text(picture) for name in names})
    order = FilmOrder(
        html=f"<img src='{MEDIA_ORIGIN}shown.svg'>{body}",
        width_px=64,
        height_px=64,
        fps=Fraction(10),
        duration_ms=400,
        data=data,
        assets=assets,
        has_page_digests=True,
    )
    with open_renderer(order, browser, FilmLimits()) as renderer:
        yield renderer


def test_any_input_of_a_page_changes_its_digests(browser: Browser, tmp_path: Path) -> None:
    def found(folder: str, body: str = "<p>words</p>", **changes: Any) -> str:
        with page_of(browser, tmp_path / folder, body, **changes) as page:
            first, second = page.digests([FilmSlice(0, 0, 2), FilmSlice(1, 2, 2)]).slices
        assert first is not None
        assert first != second
        return first

    plain = found("one")
    assert found("two") == plain
    others = [
        found("three", body="<p>other words</p>"),
        found("four", data='{"name": "Ada"}'),
        found("five", data='{"name": "Bob"}'),
        found("six", still="blue"),
    ]
    assert len({plain, *others}) == 5


@pytest.mark.parametrize(
    "body",
    [
        "<script>setTimeout(() => {}, 10)</script>",
        "<script>crypto.getRandomValues(new Uint8Array(1))</script>",
        "<canvas></canvas>",
        f"<i style='background: url({MEDIA_ORIGIN}missing.svg)'></i>",
    ],
    ids=["it runs in frames", "real randomness", "a canvas", "a source that is missing"],
)
def test_a_page_that_may_look_different_has_no_digests(
    browser: Browser, tmp_path: Path, body: str
) -> None:
    with page_of(browser, tmp_path, body) as page:
        assert page.digests([FilmSlice(0, 0, 4)]).slices == (None,)


def test_a_source_that_is_requested_late_keeps_a_slice_out_of_the_cache(
    browser: Browser, tmp_path: Path
) -> None:
    """At the start nobody knew of it, so the digest does not say which one it was."""
    late = (
        "<style>i { display: block; width: 9px; height: 9px; animation: show 1s step-end both }"
        f"@keyframes show {{ 20% {{ background: url({MEDIA_ORIGIN}late.svg) }} }}</style><i></i>"
    )
    with page_of(browser, tmp_path, late) as page:
        before, after = FilmSlice(0, 0, 2), FilmSlice(1, 2, 2)
        page.render_slice(before, tmp_path / "before.mp4", lambda _: None)
        assert page.is_cacheable
        page.render_slice(after, tmp_path / "after.mp4", lambda _: None)
        assert not page.is_cacheable


SCENES = ("one", "two", "three")
WORDS = ("eins", "zwei", "drei")
SCENE_SLICES = tuple(FilmSlice(number, 3 * number, 3) for number in range(3))
PLAIN_STYLE = "h1 { animation: enter 1s both } @keyframes enter { from { opacity: 0 } }"


def scenes_page(
    scenes: tuple[str, ...] = SCENES,
    words: tuple[str, ...] = WORDS,
    *,
    style: str = "",
    after: str = "",
) -> str:
    """Three scenes of three frames, one for each slice, under captions that change with them."""
    groups = "".join(
        f"<ef-timegroup mode='fixed' duration='600ms'><h1>{each}</h1></ef-timegroup>"
        for each in scenes
    )
    segments = [
        {"start": 600 * number, "end": 600 * number + 600, "text": each}
        for number, each in enumerate(words)
    ]
    return (
        f"<style>{PLAIN_STYLE} {style}</style>"
        f"<script type='application/json' id='words'>{json.dumps({'segments': segments})}</script>"
        "<ef-timegroup mode='fixed' duration='1800ms' fps='5'"
        " style='width: 128px; height: 64px; background: white'>"
        f"<ef-timegroup mode='sequence'>{groups}</ef-timegroup>"
        "<ef-captions captions-script='words'><ef-captions-segment></ef-captions-segment>"
        f"</ef-captions>{after}</ef-timegroup>"
    )


def page_slices(browser: Browser, html: str) -> tuple[tuple[str | None, ...], str | None]:
    """Return the digests of a page's slices, and why the whole page counts for each."""
    order = FilmOrder(html=html, has_page_digests=True)
    with open_renderer(order, browser, FilmLimits()) as renderer:
        return renderer.digests(SCENE_SLICES).slices, renderer.take_record().whole_reason


def changed(plain: tuple[str | None, ...], other: tuple[str | None, ...]) -> list[int]:
    return [
        number for number, pair in enumerate(zip(plain, other, strict=True)) if len({*pair}) > 1
    ]


def test_a_change_of_a_page_counts_only_for_slices_that_show_it(browser: Browser) -> None:
    plain, reason = page_slices(browser, scenes_page())
    assert (None in plain, reason) == (False, None)
    others = {
        "a scene": scenes_page(("one", "<b>zwo</b>", "three")),
        "a caption": scenes_page(words=("eins", "zwei", "tri")),
        "a style": scenes_page(style="h1 { color: red }"),
        "a scene that has styles for others": scenes_page(
            ("one", "<style>p { color: red }</style>two", "three")
        ),
        "a scene with an id that others name": scenes_page(
            ("one", "<b id='enter'>two</b>", "three")
        ),
    }
    found = {name: changed(plain, page_slices(browser, html)[0]) for name, html in others.items()}
    assert found == {
        "a scene": [1],
        "a caption": [2],
        "a style": [0, 1, 2],
        "a scene that has styles for others": [0, 1, 2],
        "a scene with an id that others name": [0, 1, 2],
    }


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"after": "<script>document.title = 1</script>"}, "it has a script"),
        ({"after": "<p onclick='go()'>x</p>"}, "it has an event handler"),
        ({"after": "<p dir='auto'>x</p>"}, "text decides a direction"),
        ({"style": "div:has(h1) { color: red }"}, "a style has :has("),
    ],
    ids=["script", "handler", "direction", "has"],
)
def test_a_page_whose_hidden_parts_may_be_seen_counts_whole(
    browser: Browser, changes: dict[str, Any], reason: str
) -> None:
    plain, found = page_slices(browser, scenes_page(**changes))
    assert found == reason
    other, _ = page_slices(browser, scenes_page(("one", "zwo", "three"), **changes))
    assert None not in plain
    assert changed(plain, other) == [0, 1, 2]


def test_auto_composes_a_page_only_if_its_slices_cannot_be_reused_one_by_one(
    browser: Browser, tmp_path: Path
) -> None:
    scenes = scenes_page().replace("600ms", "5s").replace("1800ms", "15s")
    large = "width: 640px; height: 360px"
    scenes = scenes.replace("fps='5'", "fps='20'").replace("width: 128px; height: 64px", large)
    one_scene = (
        f"<style>{PLAIN_STYLE}</style><ef-timegroup mode='fixed' duration='15s' fps='20'"
        f" style='{large}; background: white'><h1>one</h1></ef-timegroup>"
    )
    assets = LocalAssets(tmp_path, stock_makers())
    video = "<ef-video src='https://media.test/silent.mp4' muted></ef-video>"
    found = []
    for html, has_digests in (
        (scenes + video, True),
        (scenes + video, False),
        (one_scene + video, True),
        (one_scene, True),
    ):
        order = FilmOrder(
            html, has_page_digests=has_digests, page_method=PageMethod.AUTO, assets=assets
        )
        with open_renderer(order, browser, FilmLimits()) as renderer:
            renderer.render_slice(FilmSlice(0, 0, 2), tmp_path / "slice.mp4", lambda _: None)
            record = renderer.take_record()
        found.append((record.composed_frames, record.filmed_reason, record.whole_reason))
    assert found == [
        (0, "its slices can be reused one by one", None),
        (2, None, None),
        (2, None, "its frames may be composed"),
        (2, None, "its frames may be composed"),
    ]


def test_slices_of_changed_pages_with_equal_digests_have_equal_bytes(
    browser: Browser, tmp_path: Path
) -> None:
    """Filmed after another scene, or after the same one."""
    films = []
    for number, scenes in enumerate((SCENES, ("one", "<i>zwo</i>", "three"))):
        order = FilmOrder(html=scenes_page(scenes), has_page_digests=True)
        with open_renderer(order, browser, FilmLimits()) as renderer:
            digests = renderer.digests(SCENE_SLICES).slices
            for slice_ in SCENE_SLICES:
                path = tmp_path / f"{number}-{slice_.number}.mp4"
                renderer.render_slice(slice_, path, lambda _: None)
                films.append((digests[slice_.number], path.read_bytes()))
            assert renderer.is_cacheable
    assert films[0] == films[3]
    assert films[2] == films[5]
    assert films[1][0] != films[4][0]
    assert films[1][1] != films[4][1]
