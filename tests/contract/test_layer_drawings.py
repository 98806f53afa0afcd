"""Layers that Chromium draws, failures that name their layer, and whole films with sound."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from framekiln.capture.browser import Browser
from framekiln.capture.framebuffer import Pixels
from framekiln.composition.layers import InvalidConfig, read_config
from framekiln.engine.assets import LocalAsset
from framekiln.engine.film_order import FilmOrder, StillMoment
from framekiln.engine.film_plan import FilmSlice
from framekiln.engine.layers.errors import LayerFailed
from framekiln.engine.layers.renderer import open_layer_renderer
from framekiln.engine.missing_media import AssetMissing, AssetUnavailable
from framekiln.kit.errors import FramekilnError
from framekiln.media.remux.join import join_mp4
from tests.support.clips import Clip, make_clip
from tests.support.frame_codes import read_frame_code
from tests.support.layer_films import config_of, film_of, mean_colour, open_layer_film
from tests.support.layer_media import (
    BROKEN,
    CAPTIONS,
    CLIP,
    SVG,
    TONE,
    image,
    is_near,
    layer_media,
    moving_square,
    rect,
    video,
)
from tests.support.layer_oracle import keyframes
from tests.support.local_assets import MEDIA_ORIGIN, LocalAssets
from tests.support.looks import decode_frames, measure_file
from tests.support.lottie_archives import image_animation, lottie_archive, red_image
from tests.support.sounds import av_offset_ms, beep_times, decode_audio, rms
from tests.support.timeouts import FILM_LIMITS


@pytest.fixture(scope="module")
def assets(tmp_path_factory: pytest.TempPathFactory) -> LocalAssets:
    return layer_media(tmp_path_factory.mktemp("media"))


class TestDrawnByChromium:
    def test_text_has_the_configured_colours_box_and_position(
        self, browser: Browser, assets: LocalAssets
    ) -> None:
        style = {"text": "Hg", "fontSize": 60, "color": "#ff0000", "backgroundColor": "#0000ff"}
        layer = {
            "type": "text",
            "text": style,
            "position": {"x": "center", "y": 40},
            "size": {"width": 200},
        }
        with open_layer_film(config_of(layer), browser, assets) as film:
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
        with open_layer_film(config_of(classes, wrapped, fitted), browser, assets) as film:
            sizes = [layer.natural for layer in film.renderer.resolved.layers]
            assert sizes[0] is not None
            assert sizes[0].height == pytest.approx(120, abs=1)
            assert sizes[1] is not None
            assert sizes[1].width <= 320
            assert sizes[1].height > 2 * 48
            assert sizes[2] is not None
            assert sizes[2].height == 60
            assert not any("larger than its box" in each for each in film.renderer.warnings())

    def test_a_font_that_is_not_installed_is_named_in_a_warning(
        self, browser: Browser, assets: LocalAssets
    ) -> None:
        missing = {"type": "text", "text": {"text": "A", "fontFamily": "Nowhere Sans"}}
        default = {"type": "text", "text": {"text": "B"}}
        with open_layer_film(config_of(missing, default), browser, assets) as film:
            (warning,) = film.renderer.warnings()
            assert film.renderer.take_record().warning_codes == {warning: "font_missing"}
        assert warning.startswith("the font Nowhere Sans is not installed, ")
        assert "name its file in fonts of the config" in warning

    @pytest.mark.parametrize("layer_type", ["image", "video"])
    def test_an_svg_and_a_path_have_the_configured_size_and_position(
        self, browser: Browser, assets: LocalAssets, layer_type: str
    ) -> None:
        disc = image(SVG, type=layer_type, size={"width": 200}, position={"x": 21, "y": 20})
        path = {
            "type": "shape",
            "shape": {"kind": "path", "color": "#ff0000", "path": "M 0 0 L 60 0 L 0 60 Z"},
            "size": {"width": 60, "height": 60},
            "position": {"x": 250, "y": 100},
        }
        with open_layer_film(config_of(disc, path), browser, assets) as film:
            picture = film.frame(0)
            green = picture[..., 1] > 128
            assert green.sum() == pytest.approx(np.pi * 100**2, rel=0.01)
            ys, xs = np.nonzero(green)
            assert (xs.min(), xs.max() + 1, ys.min()) == (21, 221, 20)
            assert is_near(picture, (260, 110), (255, 0, 0))
            assert is_near(picture, (305, 155), (0, 0, 0))

    def test_captions_appear_and_disappear_at_their_times(
        self, browser: Browser, assets: LocalAssets
    ) -> None:
        style = {"backgroundColor": "#00f", "fontSize": 24}
        layer = {"type": "subtitles", "file": CAPTIONS, "subtitles": style}
        config = config_of(layer, backgroundColor="#00ff00", duration=3)
        with open_layer_film(config, browser, assets) as film:
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
        with open_layer_film(config, browser, assets) as film:
            for number in (15, 45, 74, 30):
                picture = film.frame(number)
                xs = np.nonzero((picture[100, :, 0] > 200) & (picture[100, :, 2] < 90))[0]
                assert xs.mean() + 0.5 == pytest.approx(70 + 180 * (number - 15) / 60, abs=1.5)
                ground = (0, 0, 255) if is_transparent else (255, 255, 255)
                assert is_near(picture, (95, 55), ground)

    @pytest.mark.parametrize("is_transparent", [True, False])
    def test_scripts_of_a_page_run_once_for_each_frame(
        self, browser: Browser, assets: LocalAssets, is_transparent: bool
    ) -> None:
        script = (
            "let n = 0; const box = document.querySelector('i');"
            "(function step() { box.style.left = `${4 * n++}px`; requestAnimationFrame(step) })()"
        )
        page = {
            "body": f"<i></i><script>{script}</script>",
            "styles": "i{position:absolute;width:20px;height:100px;background:#f00}",
        }
        layer = {
            "type": "html",
            "html": {"page": page, "withTransparentBackground": is_transparent},
            "size": {"width": 200, "height": 100},
        }
        config = config_of(layer, backgroundColor="#0000ff", duration=1)
        with open_layer_film(config, browser, assets) as film:
            pictures = [film.frame(number) for number in (0, 1, 2, 12)]
        reds = [(each[50, :, 0] > 200) & (each[50, :, 2] < 90) for each in pictures]
        # The first frame's callback is the second that runs.
        assert [int(np.flatnonzero(red)[0]) for red in reds] == [4, 8, 12, 52]

    @pytest.mark.parametrize("is_transparent", [True, False])
    def test_a_selected_element_is_drawn_alone_at_the_upper_left(
        self, browser: Browser, assets: LocalAssets, is_transparent: bool
    ) -> None:
        page = {
            "body": "<p>before</p><div id=card><i></i><b></b></div><p>after</p>",
            "styles": "body{background:#ff0}p{background:#f00;margin:0;height:30px;"
            "visibility:visible}#card{width:80px;height:40px;margin-left:50px;background:#0f0}"
            "i,b{display:block;width:20px;height:20px;background:#00f}b{visibility:hidden}",
        }
        layer = {
            "type": "html",
            "html": {
                "page": page,
                "selector": "#card",
                "withTransparentBackground": is_transparent,
            },
            "size": {"width": 200, "height": 100},
            "position": {"x": 60, "y": 50},
        }
        config = config_of(layer, backgroundColor="#ff00ff")
        with open_layer_film(config, browser, assets) as film:
            picture = film.frame(0)
        assert is_near(picture, (70, 60), (0, 0, 255))
        assert is_near(picture, (130, 80), (0, 255, 0))
        assert is_near(picture, (70, 80), (0, 255, 0)), "a hidden element within it stays hidden"
        ground = (255, 0, 255) if is_transparent else (255, 255, 255)
        assert is_near(picture, (145, 60), ground)
        assert is_near(picture, (70, 95), ground)

    @pytest.mark.parametrize("is_transparent", [False, True])
    def test_an_enlarged_page_is_as_sharp_as_the_canvas(
        self, browser: Browser, assets: LocalAssets, is_transparent: bool
    ) -> None:
        bar = "#fff 10.5px, #000 10.5px 30.5px, #fff 30.5px"
        styles = f"@media (width: 100px) {{ div {{ background: linear-gradient(90deg, {bar}) }} }}"
        layer = {
            "type": "html",
            "html": {
                "page": {"body": "<div style=height:100vh>", "styles": styles},
                "withTransparentBackground": is_transparent,
            },
            "size": {"width": 100, "height": 60, "scale": 2},
            "position": {"x": 100, "y": 60},
        }
        with open_layer_film(config_of(layer, backgroundColor="white"), browser, assets) as film:
            picture = film.frame(0)
        # Twice as large about its centre, it begins at (50, 30).
        assert picture[90, 69:73, 1].tolist() == pytest.approx([255, 255, 0, 0], abs=3)
        assert picture[90, 109:113, 1].tolist() == pytest.approx([0, 0, 255, 255], abs=3)

    def test_a_page_of_too_many_pixels_is_refused(
        self, browser: Browser, assets: LocalAssets
    ) -> None:
        layer = {"type": "html", "html": {"page": ""}, "size": {"width": 9000, "height": 9000}}
        with (
            open_layer_film(config_of(layer), browser, assets) as film,
            pytest.raises(LayerFailed, match=r"^layers\.0: its page has 9000x9000 pixels; at most"),
        ):
            film.frame(0)

    def test_a_page_that_grows_is_drawn_at_its_largest_size(
        self, browser: Browser, assets: LocalAssets
    ) -> None:
        styles = "body{height:100px;background:linear-gradient(90deg,#f00 50%,#00f 50%)}"
        layer = {
            "type": "html",
            "html": {"page": {"body": "", "styles": styles}},
            "size": {"width": 20, "height": 100},
            "transitions": keyframes("width", (0, 20), (1, 200)),
        }
        with open_layer_film(config_of(layer), browser, assets) as film:
            for number, middle in ((0, 10), (30, 100)):
                picture = film.frame(number)
                assert is_near(picture, (middle - 4, 50), (255, 0, 0))
                assert is_near(picture, (middle + 3, 50), (0, 0, 255))

    def test_a_lottie_animation_moves_with_time(
        self, browser: Browser, assets: LocalAssets
    ) -> None:
        layer = {
            "type": "lottie",
            "lottie": moving_square(),
            "position": {"x": 60, "y": 20},
        }
        with open_layer_film(config_of(layer), browser, assets) as film:
            for number in (0, 15, 29, 45):
                xs = np.nonzero(film.frame(number)[70, :, 0] > 128)[0]
                wanted = 60 + 10 + 180 * min(number, 29) / 30
                assert xs.mean() + 0.5 == pytest.approx(wanted, abs=2)

    def test_an_image_in_a_lottie_archive_is_drawn(self, browser: Browser, tmp_path: Path) -> None:
        archive = lottie_archive({"a/x.json": image_animation(), "i/red.png": red_image()})
        packed = LocalAssets(tmp_path, {"x.lottie": lambda path: path.write_bytes(archive)})
        layer = {
            "type": "lottie",
            "file": MEDIA_ORIGIN + "x.lottie",
            "position": {"x": 60, "y": 20},
        }
        with open_layer_film(config_of(layer), browser, packed) as film:
            assert is_near(film.frame(10), (160, 70), (255, 0, 0), off=12)
            assert is_near(film.frame(10), (30, 70), (0, 0, 0))

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
            with open_layer_film(config_of(layer), None, assets) as film:
                loud, quiet = ((film.frame(n)[..., 1] > 128).mean() for n in (31, 45))
                assert loud > 2 * quiet, style

    def test_a_waveform_without_a_source_shows_the_mix(self, assets: LocalAssets) -> None:
        sound = {"type": "audio", "file": TONE, "timeline": {"start": 1}}
        with open_layer_film(config_of({"type": "waveform"}, sound), None, assets) as film:
            shares = [(film.frame(n)[..., 1] > 128).mean() for n in (15, 45)]
            assert shares[1] > 3 * shares[0]


class TestFailures:
    def test_a_source_that_cannot_be_used_is_named(self, assets: LocalAssets) -> None:
        for file in (BROKEN, MEDIA_ORIGIN + "nowhere.mp4"):
            config = config_of(video(), {"id": "bad one", "type": "video", "file": file})
            with pytest.raises(AssetMissing) as raised, open_layer_film(config, None, assets):
                pass
            assert "layers.1.file" in raised.value.message
            assert "bad one" in raised.value.message

    def test_on_error_skips_or_shows_a_placeholder(self, assets: LocalAssets) -> None:
        bad = {"type": "video", "file": BROKEN, "size": {"width": 100, "height": 100}}
        with open_layer_film(config_of({**bad, "onError": "skip"}), None, assets) as film:
            assert not film.frame(0).any()
            assert any("left out" in each for each in film.renderer.warnings())
        with open_layer_film(config_of({**bad, "onError": "placeholder"}), None, assets) as film:
            assert mean_colour(film.frame(0), 20, 40, 30, 60) == pytest.approx([72] * 3, abs=3)

    @pytest.mark.parametrize("fails_with", [AssetUnavailable, AssetMissing])
    def test_a_page_that_cannot_be_fetched_is_replaced_or_named(
        self, browser: Browser, fails_with: type[FramekilnError]
    ) -> None:
        class Unreachable(LocalAssets):
            def fetch(self, url: str) -> LocalAsset:
                raise fails_with(f"{url} does not respond")

        unreachable = Unreachable(Path(), {})
        layer = {"id": "p1", "type": "html", "html": {"url": MEDIA_ORIGIN + "page"}}
        for on_error, level in (("skip", 0), ("placeholder", 72)):
            config = config_of({**layer, "onError": on_error})
            with open_layer_film(config, browser, unreachable) as film:
                assert mean_colour(film.frame(0), 20, 40, 30, 60) == pytest.approx(
                    [level] * 3, abs=3
                )
        with (
            open_layer_film(config_of(layer), browser, unreachable) as film,
            pytest.raises(FramekilnError, match=r"^layers\.0: layer p1: .*page does not respond"),
        ):
            film.frame(0)

    def test_a_page_that_throws_names_its_layer(
        self, browser: Browser, assets: LocalAssets
    ) -> None:
        page = "<!doctype html><script>throw new Error('no such thing')</script>"
        layer = {"id": "p1", "type": "html", "html": {"page": page}}
        with (
            open_layer_film(config_of(layer), browser, assets) as film,
            pytest.raises(LayerFailed, match=r"layers\.0: layer p1.*no such thing"),
        ):
            film.frame(0)

    def test_sound_of_a_page_that_is_a_layer_causes_a_warning(
        self, browser: Browser, assets: LocalAssets
    ) -> None:
        page = f"<video src={CLIP} autoplay muted></video><audio id=song src={TONE} autoplay>"
        layer = {"type": "html", "html": {"page": page}}
        with open_layer_film(config_of(layer), browser, assets) as film:
            film.frame(0)
            [warning] = film.renderer.warnings()
            assert "audio#song: sound of a page" in warning

    def test_a_selector_that_matches_nothing_is_named(
        self, browser: Browser, assets: LocalAssets
    ) -> None:
        page = {"page": {"body": "<p>text</p>"}, "selector": "#price"}
        with (
            open_layer_film(config_of({"type": "html", "html": page}), browser, assets) as film,
            pytest.raises(LayerFailed, match=r"^layers\.0: .*nothing matches html.selector #price"),
        ):
            film.frame(0)


class TestWholeFilms:
    def config(self) -> dict[str, Any]:
        text = {"text": "over", "fontSize": 20}
        return config_of(
            video(size={"format": "fill"}),
            {"type": "text", "text": text, "transitions": [{"type": "fadeIn", "duration": 1}]},
        )

    def test_joined_slices_equal_the_whole_film(
        self, browser: Browser, assets: LocalAssets, tmp_path: Path
    ) -> None:
        order = FilmOrder(layers=read_config(self.config()).config, assets=assets)
        whole, parts = tmp_path / "whole.mp4", [tmp_path / f"{n}.mp4" for n in range(2)]
        silence = tmp_path / "sound.mp4"
        make_clip(silence, Clip(video_codec=None))
        with open_layer_renderer(order, browser, FILM_LIMITS) as stage:
            stage.render_slice(FilmSlice(0, 0, 60), tmp_path / "one.mp4", lambda _: None)
            # The later one first: workers take what is free.
            stage.render_slice(FilmSlice(1, 30, 30), parts[1], lambda _: None)
            stage.render_slice(FilmSlice(0, 0, 30), parts[0], lambda _: None)
        join_mp4(parts, silence, tmp_path / "joined.mp4")
        join_mp4([tmp_path / "one.mp4"], silence, whole)
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
        facts = measure_file(tmp_path / "0.mp4")
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
        heard = decode_audio(path)
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

    def test_a_still_shows_its_very_instant_with_its_transparency(
        self, assets: LocalAssets
    ) -> None:
        layers = [
            rect("#ff000080", (0, 0, 100, 40), transitions=keyframes("x", (1, 0), (2, 200))),
            # Both begin or end nearer to the frame before than to this instant.
            rect("lime", (0, 60, 100, 40), trim={"end": 1.012}),
            rect("blue", (0, 60, 100, 40), timeline={"start": 1.012}),
            {"type": "group", "layers": [rect("lime", (0, 120, 100, 40), trim={"end": 1.015})]},
            video(position={"x": 160, "y": 120}, size={"width": 160}),
        ]
        config = config_of(*layers, backgroundColor="transparent", extension="png", time=1.014)
        pixels = _still(config, assets)
        assert pixels[20, 50].tolist() == pytest.approx([0, 0, 255, 128], abs=4)
        # 2.8 pixels on the way.
        assert pixels[20, :5, 3].tolist() == pytest.approx([0, 0, 26, 128, 128], abs=6)
        assert pixels[80, 50].tolist() == pytest.approx([255, 0, 0, 255], abs=4)
        assert pixels[140, 50].tolist() == pytest.approx([0, 255, 0, 255], abs=4)
        assert pixels[20, 250].tolist() == [0, 0, 0, 0]
        assert read_frame_code(pixels[120:, 160:, [2, 1, 0]]) == 30

    @pytest.mark.parametrize(("time_s", "number"), [(1.014, 30), (1.0333333, 31), (2, 59)])
    def test_a_frame_of_a_film_is_the_one_that_is_shown_then(
        self, assets: LocalAssets, time_s: float, number: int
    ) -> None:
        ending = rect("lime", (0, 0, 40, 40), trim={"end": 1.012})
        pixels = _still(config_of(video(), ending, time=time_s), assets)
        assert read_frame_code(pixels[..., [2, 1, 0]]) == number

    def test_a_frame_after_the_end_of_a_film_is_refused(self, assets: LocalAssets) -> None:
        with pytest.raises(InvalidConfig, match=r"^time: the film ends before, at 2 s$"):
            _still(config_of(rect("lime", (0, 0, 40, 40)), time=2.1), assets)


def _still(config: dict[str, Any], assets: LocalAssets) -> Pixels:
    with open_layer_film(config, None, assets) as film:
        return film.renderer.render_still(StillMoment(at_ms=0, is_transparent=True))
