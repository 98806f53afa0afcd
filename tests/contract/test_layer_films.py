"""Layers without a browser: exact source frames, places, times, colours, groups, dissolves."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tests.support.frame_codes import read_frame_code
from tests.support.layer_films import config_of, open_layer_film
from tests.support.layer_media import (
    ALPHA,
    GIF,
    NTSC,
    STILL,
    image,
    is_near,
    layer_media,
    rect,
    video,
)
from tests.support.local_assets import LocalAssets


@pytest.fixture(scope="module")
def assets(tmp_path_factory: pytest.TempPathFactory) -> LocalAssets:
    return layer_media(tmp_path_factory.mktemp("media"))


class TestSourceFrames:
    """None of these needs a browser, so none gets one."""

    def test_every_frame_is_its_source_frame(self, assets: LocalAssets) -> None:
        with open_layer_film(config_of(video()), None, assets) as film:
            assert [film.code(n) for n in range(60)] == list(range(60))
            # Any other way round as well: frames do not depend on those before.
            assert [film.code(n) for n in (3, 59, 0, 30)] == [3, 59, 0, 30]

    def test_trim_speed_and_loop_select_the_right_source_frames(self, assets: LocalAssets) -> None:
        layer = video(trim={"start": 0.5, "end": 1.5}, speed=2, timeline={"start": 0.5}, loop=2)
        with open_layer_film(config_of(layer), None, assets) as film:
            assert [film.code(n) for n in (14, 15, 16, 29, 30, 44, 45)] == [
                None,
                15,
                17,
                43,
                15,
                43,
                None,
            ]

    def test_freeze_holds_the_last_frame_and_a_negative_start_skips(
        self, assets: LocalAssets
    ) -> None:
        frozen = video(trim={"end": 0.5}, freeze=True)
        with open_layer_film(config_of(frozen), None, assets) as film:
            assert [film.code(n) for n in (0, 14, 15, 59)] == [0, 14, 14, 14]
        early = video(timeline={"start": -1})
        with open_layer_film(config_of(early), None, assets) as film:
            assert [film.code(n) for n in (0, 29, 30)] == [30, 59, None]

    def test_a_source_of_another_rate_shows_the_nearest_earlier_frame(
        self, assets: LocalAssets
    ) -> None:
        with open_layer_film(config_of({"type": "video", "file": NTSC}), None, assets) as film:
            wanted = [int(Fraction(n, 30) * Fraction(30000, 1001)) for n in range(0, 60, 7)]
            assert [film.code(n) for n in range(0, 60, 7)] == wanted

    def test_an_animated_image_loops_by_its_own_frame_times(self, assets: LocalAssets) -> None:
        with open_layer_film(config_of(image(GIF)), None, assets) as film:
            seen = [film.frame(n)[30, 30].argmax() for n in (0, 2, 3, 8, 9, 17, 18, 21)]
            assert seen == [0, 0, 1, 1, 2, 2, 0, 1]

    def test_the_alpha_of_a_video_shows_what_is_below(self, assets: LocalAssets) -> None:
        glass_layer = {"type": "video", "file": ALPHA}
        config = config_of(glass_layer, backgroundColor="#ff0000")
        with open_layer_film(config, None, assets) as film:
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


class TestPositions:
    def test_a_video_may_be_enlarged_a_hundred_times(self, assets: LocalAssets) -> None:
        # Its centre, in which four cells of its code meet.
        with open_layer_film(config_of(video(size={"scale": 100})), None, assets) as film:
            enlarged = film.frame(7)
        with open_layer_film(config_of(video()), None, assets) as film:
            expected = film.frame(7)[118:122, 158:162]
        assert {tuple(pixel) for pixel in enlarged[::60, ::60].reshape(-1, 3)} <= {
            tuple(pixel) for pixel in expected.reshape(-1, 3)
        }

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
        with open_layer_film(config_of(layer, backgroundColor="#808080"), None, assets) as film:
            picture = film.frame(7)
        seen = picture[top : top + height, left : left + width]
        assert read_frame_code(seen) == 7
        # Its own edge is black: the first and last pixel of it, and not one outside.
        grey = np.abs(picture.astype(int) - 128).max(axis=2) < 40
        ys, xs = np.nonzero(~grey)
        assert (xs.min(), ys.min()) == (left, top)
        assert (xs.max() + 1, ys.max() + 1) == (left + width, top + height)

    def test_fill_covers_the_box_around_its_focus(self, assets: LocalAssets) -> None:
        size = {"width": 120, "height": 240, "format": "fill"}
        for focus, column in ((0.0, 0), (0.5, 100), (1.0, 200)):
            layer = video(size={**size, "focus": {"x": focus, "y": 0.5}})
            with (
                open_layer_film(config_of(layer), None, assets) as film,
                open_layer_film(config_of(video()), None, assets) as plain,
            ):
                mine, whole = film.frame(9), plain.frame(9)
                wanted = whole[:, column : column + 120].astype(int)
                assert np.abs(mine[:, :120] - wanted).mean() < 3
                assert not mine[:, 124:].any()

    def test_crop_and_flip_change_the_source_picture(self, assets: LocalAssets) -> None:
        layer = video(size={"crop": {"left": 0.25, "right": 0.25}, "flip": "x"})
        with (
            open_layer_film(config_of(layer), None, assets) as film,
            open_layer_film(config_of(video()), None, assets) as plain,
        ):
            wanted = plain.frame(9)[:, 80:240][:, ::-1].astype(int)
            assert np.abs(film.frame(9)[:, :160] - wanted).mean() < 3

    def test_layers_are_stacked_by_z_then_by_order(self, assets: LocalAssets) -> None:
        layers = [
            rect("#ff0000", (0, 0, 100, 100), position={"z": 5}),
            rect("#00ff00", (0, 0, 100, 100)),
            rect("#0000ff", (50, 50, 100, 100)),
        ]
        with open_layer_film(config_of(*layers), None, assets) as film:
            picture = film.frame(0)
            assert is_near(picture, (75, 75), (255, 0, 0))
            assert is_near(picture, (120, 120), (0, 0, 255))

    @pytest.mark.parametrize("angle", [30, 90, 200])
    def test_a_turn_is_clockwise_about_the_origin(self, assets: LocalAssets, angle: int) -> None:
        layer = rect("#ffffff", (110, 100, 100, 40), position={"angle": angle})
        with open_layer_film(config_of(layer), None, assets) as film:
            mine = film.frame(0)[..., 1].astype(float) / 255
        ys, xs = np.mgrid[:240, :320] + 0.5
        turn = np.radians(angle)
        x, y = xs - 160, ys - 120
        along, across = x * np.cos(turn) + y * np.sin(turn), -x * np.sin(turn) + y * np.cos(turn)
        wanted = np.clip(50.5 - np.abs(along), 0, 1) * np.clip(20.5 - np.abs(across), 0, 1)
        assert np.abs(mine - wanted).mean() < 0.004

    def test_a_layer_turned_around_is_mirrored(self, assets: LocalAssets) -> None:
        with (
            open_layer_film(config_of(video(position={"angleY": 180})), None, assets) as film,
            open_layer_film(config_of(video()), None, assets) as plain,
        ):
            assert np.abs(film.frame(4)[:, ::-1].astype(int) - plain.frame(4)).mean() < 4

    def test_perspective_makes_the_far_side_smaller(self, assets: LocalAssets) -> None:
        layer = rect("#ffffff", (60, 60, 200, 120), position={"angleY": 50, "perspective": 400})
        with open_layer_film(config_of(layer), None, assets) as film:
            inked = film.frame(0)[..., 1] > 128
        columns = np.nonzero(inked.any(axis=0))[0]
        left, right = inked[:, columns[3]].sum(), inked[:, columns[-4]].sum()
        assert left < 120 < right or right < 120 < left

    def test_round_corners_and_a_keyed_colour(self, assets: LocalAssets) -> None:
        round_one = image(size={"width": 100, "height": 100, "borderRadius": 50})
        keyed_one = image(
            position={"x": 150, "y": 0}, chromaKey={"color": "#c86432", "similarity": 0.2}
        )
        with open_layer_film(config_of(round_one, keyed_one), None, assets) as film:
            picture = film.frame(0)
            assert is_near(picture, (50, 50), (200, 100, 50))
            assert is_near(picture, (3, 3), (0, 0, 0))
            assert is_near(picture, (180, 30), (0, 0, 0))


class TestTime:
    def test_a_fade_is_linear(self, assets: LocalAssets) -> None:
        layer = rect("#ffffff", (0, 0, 320, 240), transitions=[{"type": "fadeIn", "duration": 1}])
        with open_layer_film(config_of(layer), None, assets) as film:
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
        with open_layer_film(config_of(first, second), None, assets) as film:
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
        with open_layer_film(over, None, assets) as film:
            assert is_near(film.frame(30), (100, 100), (100, 50, 152), 4)

    @pytest.mark.parametrize(("start", "old_end", "new_end"), [(1, 2, 1), (0, 1, 2), (0, 1, 1)])
    def test_a_dissolve_of_layers_that_start_or_end_together_never_dips(
        self, assets: LocalAssets, start: int, old_end: int, new_end: int
    ) -> None:
        fades = [{"type": name, "duration": 1} for name in ("crossfadeOut", "crossfadeIn")]
        whole: dict[str, Any] = {"size": {"format": "stretch"}}
        old = image(trim={"end": old_end}, transitions=fades[:1], **whole)
        new = image(
            timeline={"start": start}, trim={"end": new_end}, transitions=fades[1:], **whole
        )
        with open_layer_film(config_of(old, new), None, assets) as film:
            for number in range(start * 30, start * 30 + 30, 5):
                assert is_near(film.frame(number), (100, 100), (200, 100, 50), 4)

    @pytest.mark.parametrize("is_new_above", [True, False])
    def test_layers_between_those_of_a_dissolve_stay_visible(
        self, assets: LocalAssets, is_new_above: bool
    ) -> None:
        old = rect(
            "#ff0000",
            (0, 0, 200, 240),
            trim={"end": 1.5},
            transitions=[{"type": "crossfadeOut", "duration": 1}],
        )
        new = rect(
            "#0000ff",
            (0, 0, 200, 240),
            timeline={"start": 0.5},
            transitions=[{"type": "crossfadeIn", "duration": 1}],
        )
        title = rect("#00ff00", (20, 20, 40, 40))
        outer = (old, new) if is_new_above else (new, old)
        with open_layer_film(config_of(outer[0], title, outer[1]), None, assets) as film:
            middle = film.frame(30)
            # Here the layer above has almost no weight.
            assert is_near(film.frame(15 if is_new_above else 44), (40, 40), (0, 255, 0), 12)
        assert is_near(middle, (120, 120), (128, 0, 128))
        assert is_near(middle, (40, 40), (0, 128, 128) if is_new_above else (128, 128, 0))
        assert is_near(middle, (300, 120), (0, 0, 0))

    def test_a_filter_between_the_layers_of_a_dissolve_changes_the_lower_one(
        self, assets: LocalAssets
    ) -> None:
        old = rect(
            "#ff0000",
            (0, 0, 320, 240),
            trim={"end": 1.5},
            transitions=[{"type": "crossfadeOut", "duration": 1}],
        )
        new = rect(
            "#0000ff",
            (0, 0, 200, 240),
            timeline={"start": 0.5},
            transitions=[{"type": "crossfadeIn", "duration": 1}],
        )
        invert = {"type": "filter", "filter": {"name": "negative"}}
        with open_layer_film(config_of(old, invert, new), None, assets) as film:
            before, middle = film.frame(14), film.frame(30)
        assert is_near(before, (120, 120), (0, 255, 255))
        assert is_near(middle, (120, 120), (0, 128, 255))
        # The background shows where only the old layer was: black, inverted.
        assert is_near(middle, (300, 120), (128, 255, 255))

    def test_keyframes_move_by_fractions_of_pixels(self, assets: LocalAssets) -> None:
        move = [{"type": "x", "options": {"time": t, "value": v}} for t, v in ((0, 0), (2, 100))]
        layer = rect("#ffffff", (0, 100, 40, 40), transitions=move)
        with open_layer_film(config_of(layer), None, assets) as film:
            for number in (0, 7, 31, 59):
                weights = film.frame(number)[120, :, 1].astype(float)
                middle = (weights * (np.arange(320) + 0.5)).sum() / weights.sum()
                assert middle == pytest.approx(20 + number * 100 / 60, abs=0.2)

    def test_a_wipe_reveals_the_layer_gradually(self, assets: LocalAssets) -> None:
        layer = rect(
            "#ffffff",
            (0, 0, 320, 240),
            transitions=[{"type": "wipeIn", "options": {"duration": 1, "direction": "right"}}],
        )
        with open_layer_film(config_of(layer), None, assets) as film:
            shares = [(film.frame(n)[..., 1] > 128).mean() for n in (6, 15, 30)]
            assert shares == pytest.approx([0.2, 0.5, 1.0], abs=0.02)

    def test_a_layer_that_is_wiped_in_and_out_is_hidden_at_both_ends(
        self, assets: LocalAssets
    ) -> None:
        wipes = [{"type": name, "options": {"duration": 0.5}} for name in ("wipeIn", "wipeOut")]
        layer = rect("#ffffff", (0, 0, 320, 240), trim={"end": 1}, transitions=wipes)
        with open_layer_film(config_of(layer), None, assets) as film:
            shares = [(film.frame(n)[..., 1] > 128).mean() for n in (0, 6, 15, 24)]
            assert shares == pytest.approx([0, 0.4, 1, 0.4], abs=0.02)


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
        with open_layer_film(config, None, assets) as film:
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
        with open_layer_film(config_of(group), None, assets) as film:
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
        with open_layer_film(config_of(group), None, assets) as film:
            codes = [film.code(n, box=(20, 10, 160, 120)) for n in (0, 20, 59)]
            assert codes == [0, 20, 59]
