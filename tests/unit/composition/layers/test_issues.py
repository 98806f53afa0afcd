"""All issues of a config are reported at once, each with its path and code."""

import sys
from types import FrameType
from typing import Any

import pytest

from framekiln.composition.layers import InvalidConfig, read_config
from framekiln.composition.layers.easing import NAMES
from framekiln.composition.layers.findings import MAX_FINDINGS
from framekiln.composition.layers.transition_type import TYPES
from framekiln.kit.suggestions import edit_distance
from tests.unit.composition.layers.configs import (
    VIDEO,
    config_of,
    image,
    issues_of,
    text,
    video,
    warnings_of,
)

WRONG: list[tuple[str, dict[str, Any], str, str]] = [
    ("no type", config_of({"file": VIDEO}), "layers.0.type", "required"),
    ("unknown type", config_of({"type": "vidoe"}), "layers.0.type", "unknown_layer_type"),
    ("no file", config_of({"type": "video"}), "layers.0.file", "required"),
    ("file scheme", config_of(video(file="file:///a")), "layers.0.file", "remote_url_required"),
    ("data url", config_of(video(file="data:,x")), "layers.0.file", "remote_url_required"),
    (
        "source scheme",
        config_of({"type": "image", "source": "ftp://a/b"}),
        "layers.0.source",
        "remote_url_required",
    ),
    ("no url", config_of(video(file="clip.mp4")), "layers.0.file", "not_url"),
    ("no host", config_of(video(file="https:///x")), "layers.0.file", "not_url"),
    ("bad port", config_of(video(file="https://a:b/x")), "layers.0.file", "not_url"),
    ("file type", config_of(video(file=5)), "layers.0.file", "type"),
    ("x", config_of(video(position={"x": "middle"})), "layers.0.position.x", "type"),
    ("numeric string", config_of(video(position={"x": "5"})), "layers.0.position.x", "type"),
    ("boolean as number", config_of(video(position={"z": True})), "layers.0.position.z", "type"),
    ("nan", config_of(video(position={"x": float("nan")})), "layers.0.position.x", "out_of_range"),
    (
        "infinite",
        config_of(video(timeline={"start": float("inf")})),
        "layers.0.timeline.start",
        "out_of_range",
    ),
    ("1e308", config_of(video(size={"scale": 1e308})), "layers.0.size.scale", "out_of_range"),
    (
        "-1e308",
        config_of(video(timeline={"start": -1e308})),
        "layers.0.timeline.start",
        "out_of_range",
    ),
    ("huge int", config_of(video(position={"x": 10**400})), "layers.0.position.x", "out_of_range"),
    ("scale 0", config_of(video(size={"scale": 0})), "layers.0.size.scale", "out_of_range"),
    ("negative side", config_of(video(size={"width": -1})), "layers.0.size.width", "out_of_range"),
    ("format", config_of(video(size={"format": "cover"})), "layers.0.size.format", "unknown_value"),
    (
        "crop",
        config_of(video(size={"crop": {"left": 0.5, "right": 0.5}})),
        "layers.0.size.crop",
        "out_of_range",
    ),
    (
        "origin",
        config_of(video(position={"origin": "nowhere"})),
        "layers.0.position.origin",
        "unknown_value",
    ),
    (
        "trim order",
        config_of(video(trim={"start": 5, "end": 2})),
        "layers.0.trim.end",
        "trim_order",
    ),
    ("negative trim end", config_of(video(trim={"end": -1})), "layers.0.trim.end", "out_of_range"),
    ("speed", config_of(video(speed=0)), "layers.0.speed", "out_of_range"),
    ("loop", config_of(video(loop=1.5)), "layers.0.loop", "type"),
    ("opacity", config_of(video(opacity=1.5)), "layers.0.opacity", "out_of_range"),
    (
        "anchor",
        config_of(video(timeline={"start": "after:x"})),
        "layers.0.timeline.start",
        "unknown_layer",
    ),
    (
        "own anchor",
        config_of(video(timeline={"start": "after:v"})),
        "layers.0.timeline.start",
        "circular_start",
    ),
    (
        "still after the end",
        config_of(video(), extension="png", duration=1, time=5),
        "time",
        "out_of_range",
    ),
    (
        "still at the end",
        config_of(video(), extension="jpg", duration=1, time=1),
        "time",
        "out_of_range",
    ),
    ("text missing", config_of({"type": "text"}, duration=1), "layers.0.text", "required"),
    (
        "text as string",
        config_of({"type": "text", "text": "x"}, duration=1),
        "layers.0.text",
        "type",
    ),
    (
        "text long",
        config_of(text(text={"text": "x" * 10_001})),
        "layers.0.text.text",
        "out_of_range",
    ),
    (
        "text style",
        config_of(text(text={"text": "x", "border": "a;b"})),
        "layers.0.text.border",
        "type",
    ),
    ("surrogate", config_of(text(text={"text": "\ud800"})), "layers.0.text.text", "type"),
    (
        "colour",
        config_of(text(text={"text": "x", "color": "#12"})),
        "layers.0.text.color",
        "not_a_color",
    ),
    (
        "html empty",
        config_of({"type": "html", "html": {}}, duration=1),
        "layers.0.html.page",
        "required",
    ),
    ("lottie empty", config_of({"type": "lottie"}, duration=1), "layers.0.lottie", "required"),
    (
        "lottie odd",
        config_of({"type": "lottie", "lottie": {"w": 1}}, duration=1),
        "layers.0.lottie",
        "type",
    ),
    (
        "filter",
        config_of({"type": "filter", "filter": {"name": "blurry"}}, duration=1),
        "layers.0.filter.name",
        "unknown_value",
    ),
    (
        "filter amount",
        config_of(
            {"type": "filter", "filter": {"name": "brightness", "options": {"brightness": 201}}},
            duration=1,
        ),
        "layers.0.filter.options.brightness",
        "out_of_range",
    ),
    (
        "shape",
        config_of({"type": "shape", "shape": {"kind": "path"}}, duration=1),
        "layers.0.shape.path",
        "required",
    ),
    (
        "transition",
        config_of(video(transitions=[{"type": "fadein2"}])),
        "layers.0.transitions.0",
        "unknown_value",
    ),
    (
        "fade",
        config_of(video(transitions=[{"type": "fadeIn"}])),
        "layers.0.transitions.0.duration",
        "required",
    ),
    (
        "fade 0",
        config_of(video(transitions=[{"type": "fadeIn", "options": {"duration": 0}}])),
        "layers.0.transitions.0.options.duration",
        "out_of_range",
    ),
    (
        "easing",
        config_of(
            video(
                transitions=[{"type": "x", "options": {"time": 0, "value": 1, "easing": "bouncy"}}]
            )
        ),
        "layers.0.transitions.0.options.easing",
        "unknown_value",
    ),
    (
        "in a group",
        config_of({"type": "group", "layers": [video(trim=4)]}),
        "layers.0.layers.0.trim",
        "type",
    ),
    ("layers", config_of(layers={}), "layers", "type"),
    ("layer", config_of("x", duration=1), "layers.0", "type"),  # type: ignore[arg-type]
    ("duration", config_of(video(), duration=3601), "duration", "out_of_range"),
    ("duration 0", config_of(video(), duration=0), "duration", "out_of_range"),
    (
        "no duration",
        config_of({"type": "text", "text": {"text": "x"}}),
        "duration",
        "duration_required",
    ),
    ("no dimensions", {"layers": [text()]}, "dimensions", "required"),
    ("two sizes", {"layers": [video(), image()]}, "dimensions", "required"),
    (
        "one side",
        {"dimensions": {"width": 2}, "layers": [video()]},
        "dimensions.height",
        "required",
    ),
    (
        "side",
        {"dimensions": {"width": 5000, "height": 2}, "layers": [video()]},
        "dimensions.width",
        "out_of_range",
    ),
    (
        "area",
        {"dimensions": {"width": 4096, "height": 4096}, "layers": [video()]},
        "dimensions",
        "out_of_range",
    ),
    ("fps", config_of(video(), fps=0.5), "fps", "out_of_range"),
    ("extension", config_of(video(), extension="avi"), "extension", "unknown_value"),
    (
        "callback",
        config_of(video(), callback="ftp://a.example/"),
        "callback",
        "remote_url_required",
    ),
    ("metadata", config_of(video(), metadata={"a": "x" * 17_000}), "metadata", "out_of_range"),
    ("metadata nan", config_of(video(), metadata={"a": float("nan")}), "metadata", "type"),
    ("twice", config_of(video(), image(id="v")), "layers.1.id", "duplicate_id"),
    ("too many", config_of(*[text(id=n) for n in range(501)]), "layers", "out_of_range"),
]


@pytest.mark.parametrize(
    ("config", "path", "code"), [row[1:] for row in WRONG], ids=[row[0] for row in WRONG]
)
def test_each_issue_has_its_path_and_code(config: dict[str, Any], path: str, code: str) -> None:
    assert issues_of(config) == {path: code}


def test_a_file_that_is_no_url_says_how_one_begins() -> None:
    with pytest.raises(InvalidConfig, match="must begin with http:// or https://"):
        read_config(config_of(video(file="clip.mp4")))


def test_five_hundred_layers_are_allowed() -> None:
    assert issues_of(config_of(*[text(id=n) for n in range(500)])) == {}


def test_transitions_are_counted_through_all_layers() -> None:
    fades = [{"type": "fadeIn", "duration": 1}] * 200
    layers = [text(id=n, transitions=fades) for n in range(51)]
    assert issues_of(config_of(*layers[:50])) == {}
    assert issues_of(config_of(*layers)) == {"layers.50.transitions": "out_of_range"}
    assert issues_of(config_of(text(transitions=[*fades, *fades]))) == {
        "layers.0.transitions": "out_of_range"
    }


def test_all_issues_are_reported_at_once() -> None:
    config = config_of(
        video(size={"scale": "x"}, position={"x": []}), {"type": "nothing"}, fps=1000
    )
    assert set(issues_of(config)) == {
        "layers.0.size.scale",
        "layers.0.position.x",
        "layers.1.type",
        "fps",
    }


@pytest.mark.parametrize(
    "sent", ["", "{", "[]", "null", "5", '"x"', "[" * 100_000, '{"a":' * 90 + "1" + "}" * 90, None]
)
def test_values_that_are_not_configs_are_refused(sent: object) -> None:
    with pytest.raises(InvalidConfig) as raised:
        read_config(sent)
    assert raised.value.code == "invalid_request"


def test_nesting_of_groups_is_limited() -> None:
    layer = text()
    for _ in range(9):
        layer = {"type": "group", "layers": [layer]}
    assert list(issues_of(config_of(layer)).values()) == ["out_of_range"]


UNKNOWN: list[tuple[dict[str, Any], str, str | None]] = [
    (config_of(video(), durration=5), "durration", "did you mean duration?"),
    (config_of(video(size={"hieght": 5})), "layers.0.size.hieght", "did you mean height?"),
    (config_of(video(volume=1)), "layers.0.volume", "did you mean audio.volume?"),
    (config_of(video(crop={})), "layers.0.crop", "did you mean size.crop?"),
    (config_of(video(src="x")), "layers.0.src", "did you mean file?"),
    (config_of(video(qqqqqqqq=1)), "layers.0.qqqqqqqq", None),
    (config_of(video(), width=5), "width", "did you mean dimensions.width?"),
]


@pytest.mark.parametrize(("config", "path", "hint"), UNKNOWN)
def test_unknown_fields_suggest_known_ones(
    config: dict[str, Any], path: str, hint: str | None
) -> None:
    warning = warnings_of(config)[path]
    assert (warning.code, warning.hint) == ("unknown_field", hint)


@pytest.mark.parametrize(
    ("layer", "hint"),
    [
        ({"type": "text", "txt": {"text": "x"}}, "did you mean text by txt?"),
        ({"type": "text", "name": "test"}, None),
        ({"type": "text"}, None),
    ],
)
def test_a_missing_field_suggests_the_unknown_one_that_is_like_it(
    layer: dict[str, Any], hint: str | None
) -> None:
    with pytest.raises(InvalidConfig) as refused:
        read_config(config_of(layer, duration=1))
    (issue,) = refused.value.issues
    assert (issue.path, issue.code, issue.hint) == ("layers.0.text", "required", hint)


def test_suggestions_are_made_only_for_warnings_that_are_shown() -> None:
    unknown = {f"unknown_field_{number}": 1 for number in range(300)}
    layers = [text(id=f"t{number}", **unknown) for number in range(400)]
    assert len(read_config(config_of(*layers)).warnings) == MAX_FINDINGS


@pytest.mark.parametrize(
    "transition", [{"type": "keyframe"}, {"type": "x", "time": 0, "value": 1, "easing": "easeInn"}]
)
def test_issues_that_are_dropped_get_no_suggestion(transition: dict[str, Any]) -> None:
    compared = 0

    def count(frame: FrameType, event: str, _: object) -> None:
        nonlocal compared
        compared += event == "call" and frame.f_code is edit_distance.__code__

    config = config_of(*(video(transitions=[transition] * 200) for _ in range(20)))
    sys.setprofile(count)
    try:
        found = issues_of(config)
    finally:
        sys.setprofile(None)
    assert len(found) == MAX_FINDINGS
    assert 0 < compared <= MAX_FINDINGS * (len(TYPES) + len(NAMES))
