"""What a layer looks like at an instant: boxes, turns, keyframes, fades, dissolves."""

import math
from fractions import Fraction
from typing import Any

import pytest

from framekiln.composition.layers import LayerState, PixelSize, state_at, text_wrap_px
from framekiln.composition.layers.boxes import Rect, map_point
from framekiln.composition.layers.easing import LINEAR, NAMES, Easing, read_easing
from framekiln.composition.layers.geometry import Length, read_origin
from tests.unit.composition.layers.configs import CAPTIONS, film, image, layer_of, text, video


def state(layer: dict[str, Any], time: float = 1, **top: Any) -> LayerState:
    return state_at(film(layer, **top).layers[0], Fraction(str(time)))


# The picture is 400 x 200, the canvas 1280 x 720.
BOXES: list[tuple[str, dict[str, Any], tuple[float, ...], tuple[float, ...], tuple[float, ...]]] = [
    ("nothing", {}, (400, 200), (0, 0, 400, 200), (0, 0, 1, 1)),
    ("width", {"width": 100}, (100, 50), (0, 0, 100, 50), (0, 0, 1, 1)),
    ("height", {"height": 100}, (200, 100), (0, 0, 200, 100), (0, 0, 1, 1)),
    ("both", {"width": 100, "height": 100}, (100, 100), (0, 0, 100, 100), (0, 0, 1, 1)),
    ("format alone", {"format": "stretch"}, (1280, 720), (0, 0, 1280, 720), (0, 0, 1, 1)),
    ("fit", {"format": "fit"}, (1280, 720), (0, 40, 1280, 640), (0, 0, 1, 1)),
    (
        "fit a box",
        {"format": "fit", "width": 100, "height": 100},
        (100, 100),
        (0, 25, 100, 50),
        (0, 0, 1, 1),
    ),
    (
        "fill",
        {"format": "fill", "width": 100, "height": 100},
        (100, 100),
        (0, 0, 100, 100),
        (0.25, 0, 0.5, 1),
    ),
    (
        "fill from the left",
        {"format": "fill", "width": 100, "height": 100, "focus": {"x": 0}},
        (100, 100),
        (0, 0, 100, 100),
        (0, 0, 0.5, 1),
    ),
    ("crop", {"crop": {"left": 0.5}}, (200, 200), (0, 0, 200, 200), (0.5, 0, 0.5, 1)),
    (
        "crop and fill",
        {"crop": {"left": 0.5}, "format": "fill", "width": 10, "height": 20},
        (10, 20),
        (0, 0, 10, 20),
        (0.625, 0, 0.25, 1),
    ),
]


@pytest.mark.parametrize(
    ("size", "box", "content", "crop"), [row[1:] for row in BOXES], ids=[row[0] for row in BOXES]
)
def test_size_and_fit_decide_box_content_and_crop(
    size: dict[str, Any], box: Any, content: Any, crop: Any
) -> None:
    found = state(image(size=size))
    assert (found.width, found.height) == pytest.approx(box)
    shown = found.content
    assert (shown.left, shown.top, shown.width, shown.height) == pytest.approx(content)
    part = found.crop
    assert (part.left, part.top, part.width, part.height) == pytest.approx(crop)


@pytest.mark.parametrize(
    ("position", "corner"),
    [
        ({}, (0, 0)),
        ({"x": 10, "y": -5.5}, (10, -5.5)),
        ({"x": "center", "y": "bottom"}, (440, 520)),
        ({"x": "right", "y": "top"}, (880, 0)),
        ({"x": 0.5, "y": 0.25, "isRelative": True}, (640, 180)),
        ({"x": "center", "y": 0.5, "isRelative": True}, (440, 360)),
    ],
)
def test_positions_are_resolved_to_pixels(
    position: dict[str, Any], corner: tuple[float, float]
) -> None:
    found = state(image(position=position))
    assert (found.x, found.y) == pytest.approx(corner)


def test_a_centred_layer_stays_centred_when_scaled() -> None:
    found = state(image(position={"x": "center", "y": "center"}, size={"scale": 2}))
    assert map_point(found.matrix, 200, 100) == pytest.approx((640, 360))
    assert map_point(found.matrix, 0, 0) == pytest.approx((240, 160))


TURNS: list[tuple[str, dict[str, Any], tuple[float, float], tuple[float, float]]] = [
    ("clockwise", {"angle": 90}, (0, 0), (300, -100)),
    ("about a corner", {"angle": 90, "origin": "top left"}, (400, 0), (0, 400)),
    ("a tilt foreshortens", {"angleY": 60}, (400, 0), (300, 0)),
    ("a tilt the other way", {"angleX": 60}, (0, 200), (0, 150)),
    ("a back face is mirrored", {"angleY": 180}, (0, 0), (400, 0)),
    ("spun, then tilted", {"angle": 90, "angleX": 60}, (0, 0), (300, 0)),
]


@pytest.mark.parametrize(
    ("position", "point", "there"), [row[1:] for row in TURNS], ids=[row[0] for row in TURNS]
)
def test_rotation_and_origin_map_points(position: dict[str, Any], point: Any, there: Any) -> None:
    assert map_point(state(image(position=position)).matrix, *point) == pytest.approx(there)


def test_perspective_is_that_of_css() -> None:
    # A page tilted about its middle: the near edge grows by d / (d - z).
    matrix = state(image(position={"angleX": 30, "perspective": 500})).matrix
    z = 100 * math.sin(math.radians(30))
    y = 100 * math.cos(math.radians(30))
    grown = 500 / (500 - z)
    assert map_point(matrix, 0, 200) == pytest.approx((200 - 200 * grown, 100 + y * grown))
    shrunk = 500 / (500 + z)
    assert map_point(matrix, 0, 0) == pytest.approx((200 - 200 * shrunk, 100 - y * shrunk))


@pytest.mark.parametrize(
    ("text_", "x", "y"),
    [
        ("center", Length(0.5), Length(0.5)),
        ("top", Length(0.5), Length(0)),
        ("left", Length(0), Length(0.5)),
        ("bottom right", Length(1), Length(1)),
        ("top-left", Length(0), Length(0)),
        ("-10px 25%", Length(0, -10), Length(0.25)),
        ("right 5px", Length(1), Length(0, 5)),
    ],
)
def test_origins_are_parsed(text_: str, x: Length, y: Length) -> None:
    origin = read_origin(text_)
    assert origin is not None
    assert (origin.x, origin.y) == (x, y)


@pytest.mark.parametrize("text_", ["", "left right", "top top", "1px 2px 3px", "10em"])
def test_invalid_origins_are_refused(text_: str) -> None:
    assert read_origin(text_) is None


def keyframe(which: str, time: float, value: float, **more: Any) -> dict[str, Any]:
    return {"type": which, "options": {"time": time, "value": value, **more}}


def test_keyframes_are_in_composition_time_and_hold_their_end_values() -> None:
    layer = image(
        timeline={"start": 1},
        trim={"end": 5},
        transitions=[keyframe("x", 4, 100), keyframe("x", 2, 0)],
    )
    found = [state(layer, time).x for time in (1, 2, 2.5, 3, 4, 5)]
    assert found == pytest.approx([0, 0, 25, 50, 100, 100])


def test_keyframes_replace_keywords_and_follow_is_relative() -> None:
    layer = image(
        position={"x": "center", "isRelative": True},
        transitions=[keyframe("x", 0, 0), keyframe("x", 2, 1)],
    )
    assert state(layer, 1).x == pytest.approx(640)


def test_two_keyframes_at_one_time_are_a_jump() -> None:
    frames = [(0, 0), (1, 10), (1, 50), (2, 60)]
    layer = image(transitions=[keyframe("x", time, value) for time, value in frames])
    assert [state(layer, t).x for t in (0.5, 0.99, 1, 1.5)] == pytest.approx([5, 9.9, 50, 55])


def test_an_easing_shapes_the_way_to_its_keyframe() -> None:
    frames = [keyframe("x", 0, 0, easing="hold"), keyframe("x", 2, 100, easing="easeIn")]
    assert state(image(transitions=frames), 1).x == pytest.approx(25)
    frames[1]["options"]["easingParameter"] = 2
    assert state(image(transitions=frames), 1).x == pytest.approx(12.5)


def test_every_property_can_have_keyframes() -> None:
    names = {
        "y": "y",
        "scale": "scale",
        "angle": "angle",
        "angleX": "angle_x",
        "angleY": "angle_y",
        "opacity": "opacity",
        "blur": "blur_px",
        "width": "width",
        "height": "height",
    }
    frames = [keyframe(name, time, time / 2) for name in names for time in (0, 2)]
    found = state(image(transitions=frames), 1)
    assert [getattr(found, name) for name in names.values()] == pytest.approx([0.5] * len(names))


@pytest.mark.parametrize("name", [*NAMES, "cubic-bezier(0.25,0.1,0.25,1)", "steps(4)"])
def test_easings_go_from_zero_to_one(name: str) -> None:
    easing = read_easing(name, 3.0)
    assert easing is not None
    assert (easing(0), easing(1)) == (0, 1)
    if name != "hold":
        assert easing(1e-9) == pytest.approx(0, abs=1e-6)
        assert easing(1 - 1e-9) == pytest.approx(1, abs=1e-6) or name == "steps(4)"


@pytest.mark.parametrize(
    ("name", "middle"),
    [
        ("linear", 0.25),
        ("easeIn", 0.0625),
        ("easeOut", 0.4375),
        ("easeInOut", 0.125),
        ("steps(2)", 0.0),
        ("steps(4)", 0.25),
        ("hold", 0.0),
        ("cubic-bezier(0,0,1,1)", 0.25),
        ("cubic-bezier(0.25,0.1,0.25,1)", 0.4085),
    ],
)
def test_easings_a_quarter_of_the_way(name: str, middle: float) -> None:
    easing = read_easing(name)
    assert easing is not None
    assert easing(0.25) == pytest.approx(middle, abs=1e-4)
    assert read_easing(easing.text) == easing


@pytest.mark.parametrize(
    "name", ["", "ease", "steps(0)", "steps(1.5)", "cubic-bezier(2,0,0,1)", "cubic-bezier(0,0,0)"]
)
def test_invalid_easings_are_refused(name: str) -> None:
    assert read_easing(name) is None


def test_elastic_easings_overshoot() -> None:
    assert max(Easing("elasticOut")(n / 100) for n in range(100)) > 1.2
    assert min(Easing("elasticIn")(n / 100) for n in range(100)) < -0.2
    assert LINEAR(0.3) == 0.3


def fade(name: str, duration: float, **more: Any) -> dict[str, Any]:
    return {"type": name, "options": {"duration": duration, **more}}


def test_fades_are_linear() -> None:
    layer = image(opacity=0.5, transitions=[fade("fadeIn", 1), fade("fadeOut", 2)])
    found = [state(layer, time).opacity for time in (0, 0.5, 1, 2, 3, 3.5)]
    assert found == pytest.approx([0, 0.25, 0.5, 0.5, 0.25, 0.125])


def test_equal_fades_and_crossfades_apply_once() -> None:
    layer = image(transitions=[fade("fadeIn", 2), fade("crossfadeIn", 2)])
    assert state(layer, 1).opacity == pytest.approx(0.5)


def test_fades_that_are_too_long_are_shortened_proportionally() -> None:
    layer = image(transitions=[fade("fadeIn", 6), fade("fadeOut", 2)])
    assert [state(layer, time).opacity for time in (1.5, 3, 3.5)] == pytest.approx([0.5, 1, 0.5])


def test_overlapping_crossfades_become_a_dissolve() -> None:
    resolved = film(
        image(id="a", transitions=[fade("crossfadeOut", 1)]),
        image(id="b", timeline={"start": 3}, transitions=[fade("crossfadeIn", 1)]),
    )
    (dissolve,) = resolved.dissolves
    assert (dissolve.from_id, dissolve.to_id) == ("a", "b")
    assert (dissolve.start_s, dissolve.end_s) == (3, 4)
    for time, weight in ((3, 0), (3.25, 0.25), (3.5, 0.5)):
        old, new = (state_at(layer_of(resolved, name), Fraction(str(time))) for name in ("a", "b"))
        assert (old.opacity, new.opacity) == (1, 1)
        assert old.dissolve is not None
        assert new.dissolve is not None
        assert new.dissolve.weight == pytest.approx(weight)
        assert old.dissolve.weight + new.dissolve.weight == pytest.approx(1)
        assert (old.dissolve.partner_id, new.dissolve.partner_id) == ("b", "a")
    assert state_at(layer_of(resolved, "b"), Fraction(5)).dissolve is None


@pytest.mark.parametrize(
    ("layers", "span"),
    [
        (
            [
                image(id="a", transitions=[fade("crossfadeOut", 1)]),
                image(
                    id="b",
                    timeline={"start": 3},
                    trim={"end": 1},
                    transitions=[fade("crossfadeIn", 1)],
                ),
            ],
            (3, 4),
        ),
        (
            [
                {
                    "type": "group",
                    "layers": [
                        image(id="a", transitions=[fade("crossfadeOut", 1)]),
                        image(
                            id="b",
                            timeline={"start": 3},
                            trim=None,
                            transitions=[fade("crossfadeIn", 1)],
                        ),
                    ],
                }
            ],
            (3, 4),
        ),
        (
            [
                {
                    "type": "sequence",
                    "layers": [
                        image(id="a"),
                        image(id="b", trim={"end": 6}, transitions=[fade("crossfadeIn", 4)]),
                    ],
                }
            ],
            (0, 4),
        ),
        (
            [
                {
                    "type": "sequence",
                    "layers": [
                        image(id="a"),
                        image(id="b", transitions=[fade("crossfadeIn", 4)]),
                    ],
                }
            ],
            (0, 4),
        ),
    ],
    ids=["both end together", "both end with their group", "both start together", "both do both"],
)
def test_layers_that_start_or_end_together_dissolve(layers: Any, span: Any) -> None:
    (dissolve,) = film(*layers).dissolves
    assert (dissolve.from_id, dissolve.to_id) == ("a", "b")
    assert (dissolve.start_s, dissolve.end_s) == span


def test_a_crossfade_without_a_partner_is_a_fade() -> None:
    resolved = film(
        image(id="a"),
        image(id="b", timeline={"start": 3}, transitions=[fade("crossfadeIn", 1)]),
    )
    assert resolved.dissolves == ()
    assert state_at(layer_of(resolved, "b"), Fraction(7, 2)).opacity == pytest.approx(0.5)


def test_one_crossfade_is_enough_for_a_dissolve_in_a_sequence() -> None:
    layers = [image(id="a", transitions=[fade("crossfadeOut", 1)]), image(id="b")]
    resolved = film({"type": "sequence", "layers": layers})
    (dissolve,) = resolved.dissolves
    assert (dissolve.start_s, dissolve.end_s) == (3, 4)


def test_slides_start_outside_the_canvas() -> None:
    layer = image(position={"x": 100}, transitions=[fade("slideIn", 1), fade("slideOut", 1)])
    assert [state(layer, t).x for t in (0, 0.5, 1, 2)] == pytest.approx([-400, -150, 100, 100])
    right = image(position={"x": 100}, transitions=[fade("slideOut", 1, direction="right")])
    assert state(right, 3.5).x == pytest.approx(690)
    top = image(transitions=[fade("slideIn", 1, direction="bottom")])
    assert state(top, 0).y == pytest.approx(720)


def test_slides_of_rotated_layers_start_outside_the_canvas() -> None:
    # 400 x 200 pixels, upright: the layer covers 0 to 200 across and -50 to 350 down.
    place = {"x": -100, "y": 50, "angle": 90}
    offsets = {"left": (-300, 50), "right": (1180, 50), "top": (-100, -300), "bottom": (-100, 820)}
    for side, corner in offsets.items():
        layer = image(position=place, transitions=[fade("slideIn", 1, direction=side)])
        assert (state(layer, 0).x, state(layer, 0).y) == pytest.approx(corner), side


def test_wipes_and_zooms_change_over_time() -> None:
    wiped = state(image(transitions=[fade("wipeIn", 2, direction="right")]), 0.5).reveal
    assert (wiped.left, wiped.width) == pytest.approx((0.75, 0.25))
    zoomed = image(size={"scale": 2}, transitions=[fade("zoomIn", 1)])
    assert state(zoomed, 0.5).scale == pytest.approx(1)


def test_a_wipe_in_and_a_wipe_out_of_one_layer_both_reveal_it() -> None:
    layer = image(transitions=[fade("wipeIn", 2), fade("wipeOut", 2, direction="right")])
    found = [state(layer, time).reveal for time in (0, 0.5, 2, 3, 4)]
    edges = [(each.left, each.width) for each in found]
    assert edges == [(0, 0), (0, 0.25), (0, 1), (0.5, 0.5), (1, 0)]


def test_wipes_at_the_same_time_reveal_what_both_reveal() -> None:
    layer = image(transitions=[fade("wipeIn", 4), fade("wipeIn", 4, direction="top")])
    assert state(layer, 1).reveal == Rect(0, 0, 0.25, 0.25)
    apart = [fade("wipeIn", 4), fade("wipeIn", 4, direction="right")]
    assert state(image(transitions=apart), 1).reveal.width == 0


def test_ken_burns_moves_and_grows() -> None:
    options = {"start": 0, "end": 4, "scale1": 1, "scale2": 2, "x1": 0, "x2": -100}
    found = state(image(transitions=[{"type": "kenBurns", "options": options}]), 1)
    assert (found.scale, found.x) == pytest.approx((1.25, -25))


def test_filters_that_fade_cover_with_a_colour() -> None:
    layer = {
        "type": "filter",
        "filter": {"name": "fadeout", "options": {"duration": 2, "color": "white"}},
    }
    (filtered,) = film(layer, duration=4).layers
    assert [state_at(filtered, Fraction(t)).filters[0].cover for t in (1, 3, 4)] == [0, 0.5, 1]


def test_text_may_use_the_width_right_of_its_position() -> None:
    def room(**fields: Any) -> float:
        return text_wrap_px(film(text(**fields)).layers[0])

    assert room() == 1280
    assert room(position={"x": 280}) == 1000
    assert room(position={"x": -50}) == 1280
    assert room(position={"x": "center"}) == 1280
    assert room(size={"width": 300}) == 300


def test_text_is_placed_by_its_measured_size() -> None:
    layer = film(text(position={"x": "center", "y": "bottom"})).layers[0]
    found = state_at(layer, Fraction(1), content=PixelSize(200, 100))
    assert (found.x, found.y, found.width, found.height) == (540, 620, 200, 100)


def test_captions_are_placed_block_by_block() -> None:
    layer = {"type": "subtitles", "file": CAPTIONS}
    (captions,) = film(layer, duration=4).layers
    found = state_at(captions, Fraction(1), content=PixelSize(300, 50))
    assert (found.x, found.y) == pytest.approx((490, 612))


def test_pages_waveforms_and_shapes_fill_the_canvas() -> None:
    for layer in (
        {"type": "html", "page": "x"},
        {"type": "waveform"},
        {"type": "shape", "shape": {"kind": "rect"}},
        {"type": "group", "layers": []},
    ):
        found = state(layer, duration=2)
        assert (found.width, found.height) == (1280, 720)


def test_times_of_children_are_relative_to_their_group() -> None:
    child = image(transitions=[keyframe("x", 0, 0), keyframe("x", 2, 100)])
    resolved = film({"type": "group", "id": "g", "timeline": {"start": 3}, "layers": [child]})
    assert state_at(layer_of(resolved, "i"), Fraction(4)).x == pytest.approx(50)


def test_hidden_layers_keep_their_time() -> None:
    resolved = film(video(visible=False), image(timeline={"start": "after:v"}))
    assert not state_at(layer_of(resolved, "v"), Fraction(1)).is_visible
    assert layer_of(resolved, "i").start_s == 10
    assert resolved.sounds == ()
