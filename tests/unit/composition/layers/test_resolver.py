"""When layers begin and end, what of their sources is shown, and what is said about odd ones."""

from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest

from framekiln.composition.layers import (
    InvalidConfig,
    PixelSize,
    SourceFacts,
    UnusableSource,
    read_config,
    resolve,
    state_at,
    write_config,
)
from framekiln.kit.media_kind import MediaKind
from tests.unit.composition.layers.configs import (
    MEDIA,
    MUSIC,
    PICTURE,
    VIDEO,
    film,
    image,
    layer_of,
    read,
    text,
    video,
)


def spans(resolved: Any) -> dict[str, tuple[Fraction, Fraction]]:
    return {layer.id: (layer.start_s, layer.end_s) for layer in resolved.every_layer()}


SPANS: list[tuple[str, list[dict[str, Any]], dict[str, Any], dict[str, tuple[Any, Any]]]] = [
    ("a video is as long as its source", [video()], {}, {"v": (0, 10)}),
    ("trim", [video(trim={"start": 2, "end": 5})], {}, {"v": (0, 3)}),
    ("speed", [video(trim={"start": 2, "end": 5}, speed=1.5)], {}, {"v": (0, 2)}),
    ("start", [video(timeline={"start": 1.5})], {}, {"v": (1.5, 11.5)}),
    ("before zero", [video(timeline={"start": -4})], {}, {"v": (-4, 6)}),
    ("trim beyond the end", [video(trim={"end": 25})], {}, {"v": (0, 10)}),
    (
        "an open layer lasts as long as the film",
        [video(), text(trim={})],
        {},
        {"v": (0, 10), "t": (0, 10)},
    ),
    ("a shorter film", [video(), text(trim={})], {"duration": 4}, {"v": (0, 10), "t": (0, 4)}),
    ("a count of plays", [video(trim={"end": 2}, loop=3)], {}, {"v": (0, 6)}),
    (
        "played for ever",
        [video(), video(id="w", trim={"end": 2}, loop=True)],
        {},
        {"v": (0, 10), "w": (0, 10)},
    ),
    ("played for ever, alone", [video(trim={"end": 2}, loop=True)], {}, {"v": (0, 2)}),
    ("played for a while", [video(trim={"end": 25}, loop=True)], {}, {"v": (0, 25)}),
    (
        "frozen",
        [video(trim={"end": 3}, freeze=True), image(trim={"end": 8})],
        {},
        {"v": (0, 8), "i": (0, 8)},
    ),
    ("frozen for a while", [video(trim={"start": 8, "end": 14}, freeze=True)], {}, {"v": (0, 6)}),
    ("frozen, alone", [video(trim={"end": 3}, freeze=True)], {}, {"v": (0, 3)}),
    ("after", [video(), image(timeline={"start": "after:v"})], {}, {"v": (0, 10), "i": (10, 14)}),
    (
        "after, named later",
        [image(timeline={"start": "after:v-1.5"}), video()],
        {},
        {"v": (0, 10), "i": (8.5, 12.5)},
    ),
    (
        "with",
        [video(timeline={"start": 2}), image(timeline={"start": "with:v + 1"})],
        {},
        {"v": (2, 12), "i": (3, 7)},
    ),
    (
        "ids like sums",
        [video(id="a-1"), image(timeline={"start": "after:a-1"})],
        {},
        {"a-1": (0, 10), "i": (10, 14)},
    ),
    (
        "a sequence",
        [
            {
                "type": "sequence",
                "timeline": {"start": 1},
                "layers": [image(id="a"), image(id="b", trim={"end": 2}), video(id="c")],
            }
        ],
        {},
        {"a": (1, 5), "b": (5, 7), "c": (7, 17)},
    ),
    (
        "crossfades overlap",
        [
            {
                "type": "sequence",
                "layers": [
                    image(id="a", transitions=[{"type": "crossfadeOut", "duration": 1}]),
                    image(id="b"),
                    image(id="c", transitions=[{"type": "crossfadeIn", "duration": 0.5}]),
                ],
            }
        ],
        {},
        {"a": (0, 4), "b": (3, 7), "c": (6.5, 10.5)},
    ),
    (
        "crossfades find no room",
        [
            {
                "type": "sequence",
                "layers": [
                    image(id="a"),
                    image(id="b", transitions=[{"type": "crossfadeIn", "duration": 9}]),
                ],
            }
        ],
        {},
        {"a": (0, 4), "b": (0, 4)},
    ),
    (
        "a group",
        [
            {
                "type": "group",
                "id": "g",
                "timeline": {"start": 2},
                "layers": [image(timeline={"start": 1}), text(trim={})],
            }
        ],
        {},
        {"g": (2, 7), "i": (3, 7), "t": (2, 7)},
    ),
    (
        "a trimmed group",
        [
            {
                "type": "group",
                "id": "g",
                "timeline": {"start": 2},
                "trim": {"start": 1, "end": 3},
                "layers": [image()],
            }
        ],
        {},
        {"g": (2, 4), "i": (1, 5)},
    ),
    (
        "a group is not over when a layer without an end begins",
        [
            {
                "type": "group",
                "id": "g",
                "timeline": {"start": 1},
                "layers": [video(trim={"end": 2}), image(timeline={"start": 3}, trim={})],
            }
        ],
        {"duration": 9},
        {"g": (1, 9), "v": (1, 3), "i": (4, 9)},
    ),
    (
        "a frozen picture stays as long as the film, also in a group",
        [{"type": "group", "id": "g", "layers": [video(trim={"end": 2}, freeze=True)]}],
        {"duration": 5},
        {"g": (0, 5), "v": (0, 5)},
    ),
    (
        "a group ends with the last layer that has an end",
        [{"type": "group", "id": "g", "layers": [image(trim={}), video(trim={"end": 2})]}],
        {"duration": 5},
        {"g": (0, 2), "i": (0, 2), "v": (0, 2)},
    ),
    (
        "an animation that stands in the config",
        [{"type": "lottie", "id": "l", "lottie": {"fr": 25, "ip": 0, "op": 50, "w": 10, "h": 10}}],
        {},
        {"l": (0, 2)},
    ),
    (
        "a waveform ends with its sound",
        [{"type": "waveform", "id": "w", "file": MUSIC}],
        {},
        {"w": (0, 3)},
    ),
    (
        "a filter covers all",
        [video(), {"type": "filter", "id": "f", "filter": {"name": "negative"}}],
        {},
        {"v": (0, 10), "f": (0, 10)},
    ),
]


@pytest.mark.parametrize(
    ("layers", "top", "expected"), [row[1:] for row in SPANS], ids=[row[0] for row in SPANS]
)
def test_layers_have_the_expected_start_and_end(
    layers: list[dict[str, Any]], top: dict[str, Any], expected: dict[str, Any]
) -> None:
    exact = {name: tuple(Fraction(edge) for edge in span) for name, span in expected.items()}
    assert spans(film(*layers, **top)) == exact


def test_the_film_ends_with_its_last_layer() -> None:
    resolved = film(video(timeline={"start": 0.02}), fps=25)
    assert resolved.duration_s == Fraction(10) + Fraction(2, 100)
    assert resolved.timeline.frame_count == 251  # 250.5 frames: halves go up.


def test_adjacent_layers_neither_skip_nor_share_a_frame() -> None:
    third = Fraction(1, 3)
    layers = [
        image(id=n, timeline={"start": float(third * n)}, trim={"end": float(third)})
        for n in range(9)
    ]
    for fps in (24, 25, 29.97, 30, 60):
        resolved = film(*layers, fps=fps)
        edges = [(layer.first_frame, layer.end_frame) for layer in resolved.layers]
        assert edges[0][0] == 0
        assert all(one[1] == two[0] for one, two in pairwise(edges))


def test_source_times_follow_trim_speed_and_loop() -> None:
    resolved = film(
        video(trim={"start": 2, "end": 4}, speed=2, loop=True, timeline={"start": 1}), duration=9
    )
    layer = resolved.layers[0]
    shown = [state_at(layer, Fraction(t)).source_s for t in ("1", "1.25", "1.75", "2", "2.5")]
    assert shown == [2, Fraction(5, 2), Fraction(7, 2), 2, 3]


def test_a_frozen_video_holds_its_last_frame() -> None:
    layer = film(video(trim={"end": 3}, freeze=True), duration=9).layers[0]
    last = state_at(layer, Fraction(3) - Fraction(1, 30)).source_s
    assert state_at(layer, Fraction(3)).source_s == last
    assert state_at(layer, Fraction(8)).source_s == last
    assert state_at(layer, Fraction(8)).is_visible


def test_a_negative_start_skips_that_part_of_the_source() -> None:
    layer = film(video(timeline={"start": -4})).layers[0]
    assert layer.first_frame == 0
    assert state_at(layer, Fraction(0)).source_s == 4


def test_a_frame_rounded_forward_does_not_show_what_was_trimmed() -> None:
    layer = film(video(timeline={"start": 0.01}, trim={"start": 2})).layers[0]
    assert layer.first_frame == 0
    assert state_at(layer, Fraction(0)).source_s == 2


def test_layers_are_stacked_by_z_then_by_order() -> None:
    resolved = film(
        image(id="a", position={"z": 1}),
        image(id="b"),
        {"type": "filter", "id": "f", "position": {"z": 1}, "filter": {"name": "negative"}},
        image(id="c", position={"z": -1}),
        image(id="d"),
    )
    assert [layer.id for layer in resolved.layers] == ["c", "b", "d", "a", "f"]


def test_a_fading_sequence_becomes_a_group() -> None:
    resolved = film(
        {
            "type": "sequence",
            "id": "s",
            "layers": [image(id="a"), image(id="b")],
            "transitions": [{"type": "fadeOut", "duration": 1}],
        }
    )
    (sequence,) = resolved.layers
    assert [child.id for child in sequence.children] == ["a", "b"]
    state = state_at(sequence, Fraction(15, 2))
    assert (state.opacity, state.width, state.height) == (0.5, 1280, 720)


def test_dimensions_can_come_from_the_only_source() -> None:
    media = {VIDEO: SourceFacts(MediaKind.VIDEO, PixelSize(639, 360.4), Fraction(1))}
    resolved = resolve(read_config({"layers": [video()]}).config, media)
    assert (resolved.dimensions.width_px, resolved.dimensions.height_px) == (640, 360)


def issues(layers: list[dict[str, Any]], media: Any = None, **top: Any) -> dict[str, str]:
    with pytest.raises(InvalidConfig) as raised:
        resolve(read(*layers, **top), MEDIA if media is None else media)
    return {issue.path: issue.code for issue in raised.value.issues}


def test_layers_that_cannot_be_placed_are_named() -> None:
    sequence = {"type": "sequence", "layers": [image(id="a", trim={}), image(id="b")]}
    assert issues([video(trim={"start": 10})]) == {"layers.0.trim.start": "out_of_range"}
    assert issues([video(trim={"end": 0.001}, loop=True)]) == {"layers.0.loop": "out_of_range"}
    assert issues([sequence]) == {"layers.0.layers.0.trim.end": "duration_required"}
    assert issues([text(trim={}), image(timeline={"start": "after:t"})]) == {
        "layers.1.timeline.start": "duration_required"
    }
    assert issues([image(trim={})]) == {"duration": "duration_required"}
    long = [image(id=n, timeline={"start": n * 900}, trim={"end": 900}) for n in range(5)]
    assert issues(long) == {"duration": "out_of_range"}


def test_sources_that_cannot_be_used_are_named_with_their_layer() -> None:
    media = {
        VIDEO: UnusableSource("asset_unreachable", "the server answered 404"),
        PICTURE: SourceFacts(MediaKind.AUDIO, None, has_sound=True),
    }
    assert issues([video(), image()], media) == {
        "layers.0.file": "asset_unreachable",
        "layers.1.file": "asset_unsupported",
    }
    assert issues([video()], {}) == {"layers.0.file": "asset_unreachable"}


def messages(*layers: dict[str, Any], media: Any = None, **top: Any) -> list[str]:
    with pytest.raises(InvalidConfig) as raised:
        resolve(read_config({"layers": list(layers), **top}).config, media or MEDIA)
    return [f"{issue.path}: {issue.message}" for issue in raised.value.issues]


def test_a_film_without_length_or_size_names_the_source_that_is_left_out() -> None:
    gone = {VIDEO: UnusableSource("asset_unreachable", "the server answered 404")}
    reason = "(layers.0.file: layer v: the server answered 404; the layer is left out)"
    assert messages(video(onError="skip"), media=gone) == [
        f"dimensions: is missing, and the only video or image has no size {reason}",
        f"duration: is missing, and no layer has a length of its own {reason}",
    ]


@pytest.mark.parametrize(
    ("layer", "reason"),
    [
        (video(loop=True), "it loops for ever"),
        (video(freeze=True), "its last frame stays"),
        (image(trim={}), "it has none of its own"),
        (
            video(file="https://a.test/gone.mp4", onError="placeholder"),
            "the placeholder in place of its source has none",
        ),
    ],
)
def test_the_message_about_an_endless_layer_in_a_sequence_has_the_reason(
    layer: dict[str, Any], reason: str
) -> None:
    size = {"dimensions": {"width": 64, "height": 64}}
    assert messages({"type": "sequence", "layers": [layer, image(id="z")]}, **size) == [
        "layers.0.layers.0.trim.end: is missing: only the last layer of a sequence may have no end,"
        f" and {reason}"
    ]


def test_messages_name_a_layer_only_by_an_id_that_its_author_knows() -> None:
    media = {VIDEO: UnusableSource("asset_unreachable", "gone")}
    size = {"dimensions": {"width": 64, "height": 64}}
    unnamed = {"type": "video", "file": VIDEO}
    by_program = unnamed | {"id": "0f8fad5b-d9cb-469f-a165-70867728950e"}
    assert messages(video(), unnamed, by_program, media=media, **size) == [
        "layers.0.file: layer v: gone",
        "layers.1.file: gone",
        "layers.2.file: gone",
    ]
    # Ids of a film that was made, in another order.
    stored = write_config(film(text(), image(trim=None) | {"id": None}).config)
    first, second = stored["layers"]
    later = {"timeline": {"start": f"after:{second['id']}"}}
    assert messages(second, first | later) == [
        "layers.1.timeline.start: image layers.0 has no end of its own"
    ]
    late = {"type": "text", "text": {"text": "x"}, "timeline": {"start": 5}, "trim": {"end": 1}}
    stored = write_config(read_config({"layers": [late], "duration": 1, **size}).config)
    warnings = resolve(read_config(stored).config, {}).warnings
    assert [warning.message for warning in warnings] == ["the layer is outside the film"]


def test_on_error_decides_what_replaces_a_missing_source() -> None:
    layers = [
        video(onError="skip"),
        video(id="p", onError="placeholder"),
        video(id="f", fallbackFile=MUSIC, onError="skip"),
        video(id="g", fallbackFile=PICTURE),
    ]
    media: dict[str, SourceFacts | UnusableSource] = {
        VIDEO: UnusableSource("asset_unreachable", "gone"),
        **{address: facts for address, facts in MEDIA.items() if address != VIDEO},
    }
    resolved = resolve(read(*layers, duration=5), media)
    assert [layer.id for layer in resolved.layers] == ["p", "g"]
    assert layer_of(resolved, "p").is_placeholder
    assert layer_of(resolved, "g").source == PICTURE
    assert [warning.path for warning in resolved.warnings[:3]] == [
        "layers.0.file",
        "layers.1.file",
        "layers.2.file",
    ]


def test_layers_beside_a_skipped_one_of_a_sequence_crossfade() -> None:
    media: dict[str, SourceFacts | UnusableSource] = {
        **MEDIA,
        VIDEO: UnusableSource("asset_unreachable", "gone"),
    }
    layers = [
        image(id="a"),
        video(onError="skip"),
        image(id="b", transitions=[{"type": "crossfadeIn", "duration": 1}]),
    ]
    resolved = resolve(read({"type": "sequence", "layers": layers}), media)
    assert spans(resolved) == {"a": (0, 4), "b": (3, 7)}
    assert [(each.from_id, each.to_id) for each in resolved.dissolves] == [("a", "b")]
    assert resolved.timeline.frame_count == 7 * 30


def test_a_sequence_of_skipped_layers_has_no_length() -> None:
    gone: dict[str, SourceFacts | UnusableSource] = {
        VIDEO: UnusableSource("asset_unreachable", "gone")
    }
    layers = [video(onError="skip"), video(id="w", onError="skip")]
    resolved = resolve(read({"type": "sequence", "layers": layers}, duration=2), gone)
    assert resolved.layers == ()


ADVICE: list[tuple[dict[str, Any], str]] = [
    (video(trim={"end": 25}), "clipped"),
    (image(timeline={"start": 50}, trim={"end": 51}), "never_shown"),
    (image(position={"x": 1280}), "off_screen"),
    (image(size={"width": 1000}), "upscaled"),
    (image(transitions=[{"type": "x", "options": {"time": 0, "value": 4}}]), "single_keyframe"),
    (
        image(
            timeline={"start": 2},
            transitions=[{"type": "x", "options": {"time": t, "value": t}} for t in (0, 1)],
        ),
        "outside_layer",
    ),
    (text(size={"crop": {"left": 0.5}}), "no_effect"),
    (text(transitions=[{"type": "volume", "options": {"time": 0, "value": 0}}]), "no_effect"),
    (text(transitions=[{"type": "width", "options": {"time": 0, "value": 9}}]), "no_effect"),
]


@pytest.mark.parametrize(("layer", "code"), ADVICE, ids=[code for _, code in ADVICE])
def test_probable_mistakes_in_layers_cause_warnings(layer: dict[str, Any], code: str) -> None:
    assert code in {warning.code for warning in film(layer, duration=20).warnings}


def test_ordinary_layers_have_no_warnings() -> None:
    moving = [{"type": "slideIn", "options": {"duration": 1}}, {"type": "fadeOut", "duration": 1}]
    assert film(video(), image(transitions=moving), text(position={"y": 700})).warnings == ()


def test_a_still_resolves_to_one_frame() -> None:
    resolved = film(text(trim={}), extension="png", time=2.5)
    assert resolved.timeline.frame_count == 1
    assert state_at(resolved.layers[0], Fraction(5, 2)).is_visible


@pytest.mark.parametrize(("time", "codes"), [(3.9, []), (4, ["never_shown"]), (9, ["never_shown"])])
def test_a_still_after_the_end_of_all_layers_causes_a_warning(
    time: float, codes: list[str]
) -> None:
    found = film(image(size={"scale": 1}), extension="png", time=time).warnings
    assert [each.code for each in found if each.path == "time"] == codes


def test_a_still_of_layers_without_an_end_has_any_time() -> None:
    assert film(image(trim=None), extension="png", time=9).warnings == ()
