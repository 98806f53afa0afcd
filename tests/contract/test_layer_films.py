"""Layer configs as films: exact source frames, places, colours, dissolves, groups, sound."""

import wave
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from PIL import Image

from framekiln.capture.browser import Browser, open_browser
from framekiln.composition.layers import read_config
from framekiln.engine.layers.errors import LayerFailed
from framekiln.engine.layers.stage import open_layers
from framekiln.engine.missing_media import AssetMissing
from framekiln.engine.order import FilmOrder, StillMoment
from framekiln.engine.slices import Slice
from framekiln.media.join import join
from tests.support.clips import Clip, make_clip, make_still, write_picture
from tests.support.frame_codes import Picture, read_frame_code
from tests.support.layer_films import LIMITS, config_of, film_of, mean_colour, staged
from tests.support.local_assets import MEDIA_ORIGIN, LocalAssets
from tests.support.looks import decode_frames, probe
from tests.support.sounds import av_offset_ms, beep_times, decode_sound, rms
from tests.support.stock import SUBTITLES

CLIP, NTSC, STILL, TONE = (
    MEDIA_ORIGIN + name for name in ("clip.mp4", "ntsc.mp4", "still.png", "tone.wav")
)
FLAT, GIF, SVG, CAPTIONS, ALPHA, BROKEN = (
    MEDIA_ORIGIN + name
    for name in ("flat.png", "turns.gif", "disc.svg", "said.vtt", "glass.webm", "broken.mp4")
)
DISC = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="100" height="100">'
    '<circle cx="50" cy="50" r="50" fill="#00ff00"/></svg>'
)
Colours = list[int]


def flat(path: Path, colour: tuple[int, ...] = (200, 100, 50), size: int = 64) -> Path:
    pixels = np.empty((size, size, len(colour)), np.uint8)
    pixels[...] = colour
    return write_picture(path, pixels)


def turning_gif(path: Path) -> None:
    colours = [(255, 0, 0), (0, 255, 0), (0, 0, 255)]
    frames = [Image.new("RGB", (64, 64), colour) for colour in colours]
    frames[0].save(path, save_all=True, append_images=frames[1:], duration=[100, 200, 300], loop=0)


def tone(path: Path) -> None:
    samples = (np.sin(np.arange(96_000) * 2 * np.pi * 440 / 48_000) * 0.25 * 32767).astype("<i2")
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(48_000)
        file.writeframes(samples.tobytes())


def glass(path: Path) -> None:
    """Two seconds of blue glass: VP9 whose right half is half transparent."""
    with av.open(path, "w") as container:
        stream = container.add_stream("libvpx-vp9", rate=10)
        stream.width, stream.height, stream.pix_fmt = 64, 64, "yuva420p"  # type: ignore[attr-defined]
        for number in range(20):
            pixels = np.zeros((64, 64, 4), np.uint8)
            pixels[...] = (0, 0, 255, 255)
            pixels[:, 32:, 3] = 128
            frame = av.VideoFrame.from_ndarray(pixels, format="rgba").reformat(format="yuva420p")
            frame.pts = number
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))


@pytest.fixture(scope="module")
def assets(tmp_path_factory: pytest.TempPathFactory) -> LocalAssets:
    makers: dict[str, Callable[[Path], object]] = {
        "clip.mp4": partial(make_clip, clip=Clip()),
        "ntsc.mp4": partial(make_clip, clip=Clip(fps=Fraction(30000, 1001))),
        "still.png": partial(make_still, n=7),
        "flat.png": flat,
        "turns.gif": turning_gif,
        "disc.svg": partial(Path.write_text, data=DISC),
        "said.vtt": partial(Path.write_text, data=SUBTITLES),
        "tone.wav": tone,
        "glass.webm": glass,
        "broken.mp4": partial(Path.write_bytes, data=b"not a video at all"),
    }
    return LocalAssets(tmp_path_factory.mktemp("media"), makers)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_browser() as browser:
        yield browser


def video(**more: Any) -> dict[str, Any]:
    return {"type": "video", "file": CLIP, **more}


def image(file: str = FLAT, **more: Any) -> dict[str, Any]:
    return {"type": "image", "file": file, **more}


def rect(colour: str, box: tuple[float, float, float, float], **more: Any) -> dict[str, Any]:
    left, top, width, height = box
    return {
        "type": "shape",
        "shape": {"kind": "rect", "color": colour},
        "size": {"width": width, "height": height},
        "position": {"x": left, "y": top, **more.pop("position", {})},
        **more,
    }


def is_near(picture: Picture, at: tuple[int, int], rgb: tuple[int, int, int], off: int = 5) -> bool:
    return bool(np.abs(picture[at[1], at[0]].astype(int) - rgb).max() <= off)


class TestSourceFrames:
    """None of these needs a browser, so none gets one."""

    def test_every_frame_is_its_source_frame(self, assets: LocalAssets) -> None:
        with staged(config_of(video()), None, assets) as film:
            assert [film.code(n) for n in range(60)] == list(range(60))
            # Any other way round as well: frames do not depend on those before.
            assert [film.code(n) for n in (3, 59, 0, 30)] == [3, 59, 0, 30]

    def test_trim_speed_and_loop(self, assets: LocalAssets) -> None:
        layer = video(trim={"start": 0.5, "end": 1.5}, speed=2, timeline={"start": 0.5}, loop=2)
        with staged(config_of(layer), None, assets) as film:
            assert [film.code(n) for n in (14, 15, 16, 29, 30, 44, 45)] == [
                None,
                15,
                17,
                43,
                15,
                43,
                None,
            ]

    def test_freeze_holds_the_last_frame_and_a_negative_start_consumes(
        self, assets: LocalAssets
    ) -> None:
        frozen = video(trim={"end": 0.5}, freeze=True)
        with staged(config_of(frozen), None, assets) as film:
            assert [film.code(n) for n in (0, 14, 15, 59)] == [0, 14, 14, 14]
        early = video(timeline={"start": -1})
        with staged(config_of(early), None, assets) as film:
            assert [film.code(n) for n in (0, 29, 30)] == [30, 59, None]

    def test_a_rate_that_does_not_fit(self, assets: LocalAssets) -> None:
        with staged(config_of({"type": "video", "file": NTSC}), None, assets) as film:
            wanted = [int(Fraction(n, 30) * Fraction(30000, 1001)) for n in range(0, 60, 7)]
            assert [film.code(n) for n in range(0, 60, 7)] == wanted

    def test_an_animation_runs_by_its_own_times_for_ever(self, assets: LocalAssets) -> None:
        with staged(config_of(image(GIF)), None, assets) as film:
            seen = [film.frame(n)[30, 30].argmax() for n in (0, 2, 3, 8, 9, 17, 18, 21)]
            assert seen == [0, 0, 1, 1, 2, 2, 0, 1]

    def test_alpha_of_a_video_lets_through(self, assets: LocalAssets) -> None:
        glass_layer = {"type": "video", "file": ALPHA}
        config = config_of(glass_layer, backgroundColor="#ff0000")
        with staged(config, None, assets) as film:
            picture = film.frame(5)
            assert is_near(picture, (16, 32), (0, 0, 255), 12)
            assert is_near(picture, (48, 32), (127, 0, 128), 12)
            assert is_near(picture, (100, 32), (255, 0, 0))


PLACES: dict[str, tuple[dict[str, Any], tuple[int, int, int, int]]] = {
    "natural": ({}, (0, 0, 320, 240)),
    "moved": ({"position": {"x": 40, "y": 20}, "size": {"width": 160}}, (40, 20, 160, 120)),
    "odd": ({"position": {"x": 41, "y": 23}, "size": {"width": 160}}, (41, 23, 160, 120)),
    "centred": (
        {"position": {"x": "center", "y": "bottom"}, "size": {"height": 120}},
        (80, 120, 160, 120),
    ),
    "relative": (
        {"position": {"x": 0.25, "y": 0.5, "isRelative": True}, "size": {"width": 120}},
        (80, 120, 120, 90),
    ),
    "stretched": ({"size": {"width": 200, "height": 80}}, (0, 0, 200, 80)),
    "fitted": ({"size": {"width": 320, "height": 120, "format": "fit"}}, (80, 0, 160, 120)),
    "scaled": (
        {"size": {"width": 160, "scale": 1.5}, "position": {"x": 80, "y": 60}},
        (40, 30, 240, 180),
    ),
    "scaled from its corner": (
        {"size": {"scale": 0.5}, "position": {"origin": "top left", "x": 10, "y": 10}},
        (10, 10, 160, 120),
    ),
}


class TestPlaces:
    @pytest.mark.parametrize(("fields", "box"), PLACES.values(), ids=PLACES)
    @pytest.mark.parametrize("kind", ["video", "image"])
    def test_a_picture_lies_in_its_box(
        self,
        assets: LocalAssets,
        kind: str,
        fields: dict[str, Any],
        box: tuple[int, int, int, int],
    ) -> None:
        layer = video(**fields) if kind == "video" else image(STILL, **fields)
        left, top, width, height = box
        with staged(config_of(layer, backgroundColor="#808080"), None, assets) as film:
            picture = film.frame(7)
        seen = picture[top : top + height, left : left + width]
        assert read_frame_code(seen) == 7
        # Its own edge is black: the first and last pixel of it, and not one outside.
        grey = np.abs(picture.astype(int) - 128).max(axis=2) < 40
        ys, xs = np.nonzero(~grey)
        assert (xs.min(), ys.min()) == (left, top)
        assert (xs.max() + 1, ys.max() + 1) == (left + width, top + height)

    def test_fill_covers_and_follows_its_focus(self, assets: LocalAssets) -> None:
        size = {"width": 120, "height": 240, "format": "fill"}
        for focus, column in ((0.0, 0), (0.5, 100), (1.0, 200)):
            layer = video(size={**size, "focus": {"x": focus, "y": 0.5}})
            with (
                staged(config_of(layer), None, assets) as film,
                staged(config_of(video()), None, assets) as plain,
            ):
                mine, whole = film.frame(9), plain.frame(9)
                wanted = whole[:, column : column + 120].astype(int)
                assert np.abs(mine[:, :120] - wanted).mean() < 3
                assert not mine[:, 124:].any()

    def test_crop_and_flip(self, assets: LocalAssets) -> None:
        layer = video(size={"crop": {"left": 0.25, "right": 0.25}, "flip": "x"})
        with (
            staged(config_of(layer), None, assets) as film,
            staged(config_of(video()), None, assets) as plain,
        ):
            wanted = plain.frame(9)[:, 80:240][:, ::-1].astype(int)
            assert np.abs(film.frame(9)[:, :160] - wanted).mean() < 3

    def test_z_order_and_ties(self, assets: LocalAssets) -> None:
        layers = [
            rect("#ff0000", (0, 0, 100, 100), position={"z": 5}),
            rect("#00ff00", (0, 0, 100, 100)),
            rect("#0000ff", (50, 50, 100, 100)),
        ]
        with staged(config_of(*layers), None, assets) as film:
            picture = film.frame(0)
            assert is_near(picture, (75, 75), (255, 0, 0))
            assert is_near(picture, (120, 120), (0, 0, 255))

    @pytest.mark.parametrize("angle", [30, 90, 200])
    def test_a_turn_is_clockwise_about_the_origin(self, assets: LocalAssets, angle: int) -> None:
        layer = rect("#ffffff", (110, 100, 100, 40), position={"angle": angle})
        with staged(config_of(layer), None, assets) as film:
            mine = film.frame(0)[..., 1].astype(float) / 255
        ys, xs = np.mgrid[:240, :320] + 0.5
        turn = np.radians(angle)
        x, y = xs - 160, ys - 120
        along, across = x * np.cos(turn) + y * np.sin(turn), -x * np.sin(turn) + y * np.cos(turn)
        wanted = np.clip(50.5 - np.abs(along), 0, 1) * np.clip(20.5 - np.abs(across), 0, 1)
        assert np.abs(mine - wanted).mean() < 0.004

    def test_a_back_face_is_mirrored(self, assets: LocalAssets) -> None:
        with (
            staged(config_of(video(position={"angleY": 180})), None, assets) as film,
            staged(config_of(video()), None, assets) as plain,
        ):
            assert np.abs(film.frame(4)[:, ::-1].astype(int) - plain.frame(4)).mean() < 4

    def test_perspective_makes_the_far_side_smaller(self, assets: LocalAssets) -> None:
        layer = rect("#ffffff", (60, 60, 200, 120), position={"angleY": 50, "perspective": 400})
        with staged(config_of(layer), None, assets) as film:
            inked = film.frame(0)[..., 1] > 128
        columns = np.nonzero(inked.any(axis=0))[0]
        left, right = inked[:, columns[3]].sum(), inked[:, columns[-4]].sum()
        assert left < 120 < right or right < 120 < left

    def test_round_corners_and_a_keyed_colour(self, assets: LocalAssets) -> None:
        round_one = image(size={"width": 100, "height": 100, "borderRadius": 50})
        keyed_one = image(
            position={"x": 150, "y": 0}, chromaKey={"color": "#c86432", "similarity": 0.2}
        )
        with staged(config_of(round_one, keyed_one), None, assets) as film:
            picture = film.frame(0)
            assert is_near(picture, (50, 50), (200, 100, 50))
            assert is_near(picture, (3, 3), (0, 0, 0))
            assert is_near(picture, (180, 30), (0, 0, 0))


class TestTime:
    def test_a_fade_is_linear(self, assets: LocalAssets) -> None:
        layer = rect("#ffffff", (0, 0, 320, 240), transitions=[{"type": "fadeIn", "duration": 1}])
        with staged(config_of(layer), None, assets) as film:
            levels = [int(film.frame(n)[10, 10, 1]) for n in (0, 6, 15, 24, 30)]
            assert np.abs(np.array(levels) - np.array([0, 51, 128, 204, 255])).max() <= 3
            assert film.changed(20)
            assert film.changed(31)
            assert not film.changed(32)

    def test_a_dissolve_never_dips(self, assets: LocalAssets) -> None:
        first = image(
            size={"format": "stretch"},
            trim={"end": 1.5},
            transitions=[{"type": "crossfadeOut", "duration": 1}],
        )
        second = {
            **first,
            "trim": {"end": 1.5},
            "timeline": {"start": 0.5},
            "transitions": [{"type": "crossfadeIn", "duration": 1}],
        }
        with staged(config_of(first, second), None, assets) as film:
            for number in range(0, 60, 5):
                assert is_near(film.frame(number), (100, 100), (200, 100, 50), 4)
        over = config_of(
            first,
            rect(
                "#0000ff",
                (0, 0, 320, 240),
                **{key: second[key] for key in ("trim", "timeline", "transitions")},
            ),
        )
        with staged(over, None, assets) as film:
            assert is_near(film.frame(30), (100, 100), (100, 50, 152), 4)

    def test_keyframes_move_by_parts_of_pixels(self, assets: LocalAssets) -> None:
        move = [{"type": "x", "options": {"time": t, "value": v}} for t, v in ((0, 0), (2, 100))]
        layer = rect("#ffffff", (0, 100, 40, 40), transitions=move)
        with staged(config_of(layer), None, assets) as film:
            for number in (0, 7, 31, 59):
                weights = film.frame(number)[120, :, 1].astype(float)
                middle = (weights * (np.arange(320) + 0.5)).sum() / weights.sum()
                assert middle == pytest.approx(20 + number * 100 / 60, abs=0.2)

    def test_a_wipe_reveals(self, assets: LocalAssets) -> None:
        layer = rect(
            "#ffffff",
            (0, 0, 320, 240),
            transitions=[{"type": "wipeIn", "options": {"duration": 1, "direction": "right"}}],
        )
        with staged(config_of(layer), None, assets) as film:
            shares = [(film.frame(n)[..., 1] > 128).mean() for n in (6, 15, 30)]
            assert shares == pytest.approx([0.2, 0.5, 1.0], abs=0.02)


class TestColours:
    @pytest.mark.parametrize(
        ("name", "options", "wanted"),
        [
            ("brightness", {"brightness": 50}, (100, 50, 25)),
            ("contrast", {"contrast": 50}, (164, 114, 89)),
            ("grayscale", {}, (118, 118, 118)),
            ("negative", {}, (55, 155, 205)),
            ("lighten", {}, (211, 131, 91)),
        ],
    )
    def test_filters_of_a_layer_and_of_all_below(
        self, assets: LocalAssets, name: str, options: dict[str, Any], wanted: tuple[int, int, int]
    ) -> None:
        each = {"name": name, "options": options}
        below = {"type": "filter", "filter": each, "timeline": {"start": 1}}
        above = image(position={"x": 100, "y": 0})
        config = config_of(
            image(), below, above, image(filters=[each], position={"x": 200, "y": 0})
        )
        with staged(config, None, assets) as film:
            before, after = film.frame(0), film.frame(45)
            assert is_near(before, (30, 30), (200, 100, 50))
            assert is_near(after, (30, 30), wanted)
            assert is_near(after, (130, 30), (200, 100, 50))
            assert is_near(after, (230, 30), wanted)

    def test_a_group_fades_as_one(self, assets: LocalAssets) -> None:
        group = {
            "type": "group",
            "opacity": 0.5,
            "layers": [rect("#ff0000", (0, 0, 100, 100)), rect("#00ff00", (50, 0, 100, 100))],
        }
        with staged(config_of(group), None, assets) as film:
            picture = film.frame(0)
            assert is_near(picture, (25, 50), (128, 0, 0))
            # Nothing of the red one shines through the green one.
            assert is_near(picture, (75, 50), (0, 128, 0))

    def test_a_group_is_placed_like_a_picture_and_moves(self, assets: LocalAssets) -> None:
        group = {
            "type": "group",
            "size": {"scale": 0.5},
            "position": {"origin": "top left", "x": 20, "y": 10},
            "layers": [video()],
        }
        with staged(config_of(group), None, assets) as film:
            codes = [film.code(n, box=(20, 10, 160, 120)) for n in (0, 20, 59)]
            assert codes == [0, 20, 59]


class TestDrawnByChromium:
    def test_text_has_its_colours_its_box_and_its_place(
        self, browser: Browser, assets: LocalAssets
    ) -> None:
        style = {"text": "Hg", "fontSize": 60, "color": "#ff0000", "backgroundColor": "#0000ff"}
        layer = {
            "type": "text",
            "text": style,
            "position": {"x": "center", "y": 40},
            "size": {"width": 200},
        }
        with staged(config_of(layer), browser, assets) as film:
            picture = film.frame(0)
            blue = np.abs(picture.astype(int) - (0, 0, 255)).max(axis=2) < 30
            red = np.abs(picture.astype(int) - (255, 0, 0)).max(axis=2) < 60
            ys, xs = np.nonzero(blue | red)
            # One line of 60 px at 1.2, and 16 px of padding on each side.
            assert (xs.min(), xs.max() + 1) == (60, 260)
            assert (ys.min(), ys.max() + 1) == (40, 40 + 72 + 32)
            assert 500 < red.sum() < 4000
            assert not film.changed(1)

    def test_utility_classes_win_and_long_text_wraps_and_shrinks(
        self, browser: Browser, assets: LocalAssets
    ) -> None:
        words = "one two three four five six seven"
        classes = {"type": "text", "text": {"text": "A", "tailwind": "bg-red-500 p-0"}}
        wrapped = {"type": "text", "text": {"text": words, "fontSize": 40}}
        fitted = {
            "type": "text",
            "text": {"text": words, "fontSize": 90, "fit": "shrink"},
            "size": {"width": 300, "height": 60},
        }
        with staged(config_of(classes, wrapped, fitted), browser, assets) as film:
            sizes = [layer.natural for layer in film.stage.film_plan.layers]
            assert sizes[0] is not None
            assert sizes[0].height == pytest.approx(120, abs=1)
            assert sizes[1] is not None
            assert sizes[1].width <= 320
            assert sizes[1].height > 2 * 48
            assert sizes[2] is not None
            assert sizes[2].height == 60
            assert not any("larger than its box" in each for each in film.stage.warnings())

    def test_an_svg_and_a_path(self, browser: Browser, assets: LocalAssets) -> None:
        disc = image(SVG, size={"width": 200}, position={"x": 21, "y": 20})
        path = {
            "type": "shape",
            "shape": {"kind": "path", "color": "#ff0000", "path": "M 0 0 L 60 0 L 0 60 Z"},
            "size": {"width": 60, "height": 60},
            "position": {"x": 250, "y": 100},
        }
        with staged(config_of(disc, path), browser, assets) as film:
            picture = film.frame(0)
            green = picture[..., 1] > 128
            assert green.sum() == pytest.approx(np.pi * 100**2, rel=0.01)
            ys, xs = np.nonzero(green)
            assert (xs.min(), xs.max() + 1, ys.min()) == (21, 221, 20)
            assert is_near(picture, (260, 110), (255, 0, 0))
            assert is_near(picture, (305, 155), (0, 0, 0))

    def test_captions_come_and_go(self, browser: Browser, assets: LocalAssets) -> None:
        layer = {"type": "subtitles", "file": CAPTIONS, "subtitles": {"backgroundColor": "#00f"}}
        config = config_of(layer, backgroundColor="#00ff00", duration=3)
        with staged(config, browser, assets) as film:
            seen = [bool((film.frame(n)[..., 2] > 200).sum() > 500) for n in (0, 12, 44, 46, 60)]
            assert seen == [False, True, True, False, True]
            picture = film.frame(60)
            ys, xs = np.nonzero(picture[..., 1] < 100)
            assert (xs.min() + xs.max()) / 2 == pytest.approx(160, abs=2)
            assert ys.min() == pytest.approx(240 * 0.85, abs=2)

    @pytest.mark.parametrize("is_transparent", [True, False])
    def test_a_page_moves_with_the_film(
        self, browser: Browser, assets: LocalAssets, is_transparent: bool
    ) -> None:
        page = {
            "body": "<i></i>",
            "styles": "i{position:absolute;left:0;width:20px;height:100px;background:#f00;"
            "animation:m 2s linear both}@keyframes m{to{left:180px}}",
        }
        layer = {
            "type": "html",
            "html": {"page": page, "withTransparentBackground": is_transparent},
            "size": {"width": 200, "height": 100},
            "position": {"x": 60, "y": 50},
            "timeline": {"start": 0.5},
        }
        config = config_of(layer, backgroundColor="#0000ff", duration=3)
        with staged(config, browser, assets) as film:
            for number in (15, 45, 74, 30):
                picture = film.frame(number)
                xs = np.nonzero((picture[100, :, 0] > 200) & (picture[100, :, 2] < 90))[0]
                assert xs.mean() + 0.5 == pytest.approx(70 + 180 * (number - 15) / 60, abs=1.5)
                ground = (0, 0, 255) if is_transparent else (255, 255, 255)
                assert is_near(picture, (95, 55), ground)

    def test_a_lottie_animation(self, browser: Browser, assets: LocalAssets) -> None:
        layer = {
            "type": "lottie",
            "lottie": moving_square(),
            "position": {"x": 60, "y": 20},
        }
        with staged(config_of(layer), browser, assets) as film:
            for number in (0, 15, 29, 45):
                xs = np.nonzero(film.frame(number)[70, :, 0] > 128)[0]
                wanted = 60 + 10 + 180 * min(number, 29) / 30
                assert xs.mean() + 0.5 == pytest.approx(wanted, abs=2)

    def test_a_waveform_is_loud_where_the_sound_is(
        self, browser: Browser, assets: LocalAssets
    ) -> None:
        styles = (
            "bars",
            "roundBars",
            "bricks",
            "line",
            "curve",
            "wave",
            "waveSmooth",
            "pixel",
            "equalizer",
            "barsVertical",
        )
        for style in styles:
            layer = {"type": "waveform", "file": CLIP, "waveform": {"style": style}}
            with staged(config_of(layer), None, assets) as film:
                loud, quiet = ((film.frame(n)[..., 1] > 128).mean() for n in (31, 45))
                assert loud > 2 * quiet, style

    def test_a_waveform_of_the_mix(self, assets: LocalAssets) -> None:
        sound = {"type": "audio", "file": TONE, "timeline": {"start": 1}}
        with staged(config_of({"type": "waveform"}, sound), None, assets) as film:
            shares = [(film.frame(n)[..., 1] > 128).mean() for n in (15, 45)]
            assert shares[1] > 3 * shares[0]


def moving_square() -> dict[str, Any]:
    """A red square of 20 px that crosses 200 px in a second, in 30 frames."""
    place = {
        "a": 1,
        "k": [
            {"t": 0, "s": [10, 50, 0], "i": {"x": 1, "y": 1}, "o": {"x": 0, "y": 0}},
            {"t": 30, "s": [190, 50, 0]},
        ],
    }
    still = {
        "o": {"a": 0, "k": 100},
        "r": {"a": 0, "k": 0},
        "a": {"a": 0, "k": [0, 0, 0]},
        "s": {"a": 0, "k": [100, 100, 100]},
    }
    square = {
        "ty": "gr",
        "it": [
            {
                "ty": "rc",
                "p": {"a": 0, "k": [0, 0]},
                "s": {"a": 0, "k": [20, 20]},
                "r": {"a": 0, "k": 0},
                "d": 1,
            },
            {"ty": "fl", "c": {"a": 0, "k": [1, 0, 0, 1]}, "o": {"a": 0, "k": 100}},
            {
                "ty": "tr",
                "p": {"a": 0, "k": [0, 0]},
                **still,
                "sk": {"a": 0, "k": 0},
                "sa": {"a": 0, "k": 0},
            },
        ],
    }
    layer = {
        "ty": 4,
        "ip": 0,
        "op": 30,
        "st": 0,
        "bm": 0,
        "sr": 1,
        "ddd": 0,
        "ind": 1,
        "ks": {**still, "p": place},
        "shapes": [square],
    }
    return {
        "v": "5.7.0",
        "fr": 30,
        "ip": 0,
        "op": 30,
        "w": 200,
        "h": 100,
        "ddd": 0,
        "assets": [],
        "layers": [layer],
    }


class TestFailures:
    def test_a_source_that_cannot_be_used_is_named(self, assets: LocalAssets) -> None:
        for file in (BROKEN, MEDIA_ORIGIN + "nowhere.mp4"):
            config = config_of(video(), {"id": "bad one", "type": "video", "file": file})
            with pytest.raises(AssetMissing) as raised, staged(config, None, assets):
                pass
            assert "layers.1.file" in raised.value.message
            assert "bad one" in raised.value.message

    def test_skip_and_placeholder(self, assets: LocalAssets) -> None:
        bad = {"type": "video", "file": BROKEN, "size": {"width": 100, "height": 100}}
        with staged(config_of({**bad, "onError": "skip"}), None, assets) as film:
            assert not film.frame(0).any()
            assert any("left out" in each for each in film.stage.warnings())
        with staged(config_of({**bad, "onError": "placeholder"}), None, assets) as film:
            assert mean_colour(film.frame(0), 20, 40, 30, 60) == pytest.approx([72] * 3, abs=3)

    def test_a_page_that_throws_names_its_layer(
        self, browser: Browser, assets: LocalAssets
    ) -> None:
        page = "<!doctype html><script>throw new Error('no such thing')</script>"
        layer = {"id": "p1", "type": "html", "html": {"page": page}}
        with (
            staged(config_of(layer), browser, assets) as film,
            pytest.raises(LayerFailed, match=r"layers\.0: layer p1.*no such thing"),
        ):
            film.frame(0)


class TestWholeFilms:
    def config(self) -> dict[str, Any]:
        text = {"text": "over", "fontSize": 20}
        return config_of(
            video(size={"format": "fill"}),
            {"type": "text", "text": text, "transitions": [{"type": "fadeIn", "duration": 1}]},
        )

    def test_slices_joined_are_the_whole(
        self, browser: Browser, assets: LocalAssets, tmp_path: Path
    ) -> None:
        order = FilmOrder(layers=read_config(self.config()).config, assets=assets)
        whole, parts = tmp_path / "whole.mp4", [tmp_path / f"{n}.mp4" for n in range(2)]
        silence = tmp_path / "sound.mp4"
        make_clip(silence, Clip(video_codec=None))
        with open_layers(order, browser, LIMITS) as stage:
            stage.film(Slice(0, 0, 60), tmp_path / "one.mp4", lambda _: None)
            # The later one first: workers take what is free.
            stage.film(Slice(1, 30, 30), parts[1], lambda _: None)
            stage.film(Slice(0, 0, 30), parts[0], lambda _: None)
        join(parts, silence, tmp_path / "joined.mp4")
        join([tmp_path / "one.mp4"], silence, whole)
        joined, one = decode_frames(tmp_path / "joined.mp4"), decode_frames(whole)
        assert [read_frame_code(frame.rgb) for frame in joined] == list(range(60))
        assert [frame.pts for frame in joined] == [frame.pts for frame in one]

    def test_the_same_config_gives_the_same_bytes(
        self, browser: Browser, assets: LocalAssets, tmp_path: Path
    ) -> None:
        films = [
            film_of(self.config(), browser, assets, tmp_path / f"{n}.mp4").read_bytes()
            for n in range(2)
        ]
        assert films[0] == films[1]
        facts = probe(tmp_path / "0.mp4")
        assert facts.video is not None
        assert (facts.video.width, facts.video.frame_count) == (320, 60)
        assert facts.video.matrix == "bt709"
        assert facts.is_faststart
        assert abs(av_offset_ms(tmp_path / "0.mp4")) < 33

    def test_gains_and_fades_are_heard(
        self, browser: Browser, assets: LocalAssets, tmp_path: Path
    ) -> None:
        sound = {
            "type": "audio",
            "file": TONE,
            "audio": {"volume": 0.5},
            "transitions": [{"type": "fadeOut", "duration": 1}],
        }
        path = film_of(config_of(sound), browser, assets, tmp_path / "a.mp4")
        heard = decode_sound(path)
        loud = [rms(heard.mono[at : at + 2400]) for at in (24_000, 70_800, 93_000)]
        full = 0.5 * 0.25 / np.sqrt(2)
        assert loud == pytest.approx([full, full / 2, full * 0.04], abs=0.006)

    def test_speed_keeps_the_pitch_and_the_picture(
        self, browser: Browser, assets: LocalAssets, tmp_path: Path
    ) -> None:
        config = config_of(video(speed=0.5), duration=4)
        path = film_of(config, browser, assets, tmp_path / "slow.mp4")
        # Beeps of 1 kHz are still such, twice as far apart.
        assert beep_times(path) == pytest.approx([0, 2], abs=0.04)
        frames = decode_frames(path)
        assert [read_frame_code(frames[n].rgb) for n in (0, 30, 119)] == [0, 15, 59]

    def test_a_still_with_its_transparency(self, assets: LocalAssets) -> None:
        config = config_of(rect("#ff000080", (0, 0, 100, 100)), backgroundColor="transparent")
        with staged(config, None, assets) as film:
            pixels = film.stage.still(StillMoment(at_ms=500, is_transparent=True))
            assert pixels[50, 50].tolist() == pytest.approx([0, 0, 255, 128], abs=4)
            assert pixels[50, 200].tolist() == [0, 0, 0, 0]
