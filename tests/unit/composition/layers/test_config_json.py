"""Every field of the layer config: its default, its bounds, and what is said when it is wrong."""

import json
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from framekiln.composition.layers import (
    ConfigLimits,
    InvalidConfig,
    ReadOptions,
    config_digest,
    read_config,
    write_config,
)
from framekiln.composition.layers.colours import TRANSPARENT, WHITE, Colour
from framekiln.composition.layers.filters import FilterName
from framekiln.composition.layers.geometry import Align, Format
from framekiln.composition.layers.transitions import Fade, Keyframe, Property
from framekiln.composition.layers.values import (
    Extension,
    HtmlLayer,
    ImageLayer,
    Loop,
    OnError,
    ShapeLayer,
    SubtitlesLayer,
    TextLayer,
    VideoLayer,
    WaveformLayer,
)
from framekiln.composition.render_preset import RenderPreset
from tests.unit.composition.layers.configs import (
    PICTURE,
    VIDEO,
    config_of,
    image,
    issues_of,
    read,
    text,
    video,
    warnings_of,
)

# The shapes that the specification shows, as they are sent.
VIDEO_CONFIG: dict[str, Any] = {
    "backgroundColor": "#000000FF",
    "dimensions": {"height": 1080, "width": 1920},
    "duration": 5,
    "layers": [
        {
            "audio": {"volume": 1},
            "file": "https://media.example/a.mp4",
            "id": "6d9dd7b5-8a7d-4c0f-9d46-9d7d5d1a2c11",
            "position": {
                "angle": 0,
                "angleX": 0,
                "angleY": 0,
                "isRelative": False,
                "origin": "center",
                "x": "center",
                "y": "center",
                "z": 0,
            },
            "size": {"format": "fit", "height": 1080, "scale": 1, "width": 1920},
            "timeline": {"start": 0},
            "transitions": [],
            "trim": {"start": 0},
            "type": "video",
        },
        {
            "audio": {"volume": 0.5},
            "file": "https://media.example/b.mp3",
            "id": "b",
            "timeline": {"start": 0},
            "transitions": [],
            "trim": {"start": 2},
            "type": "audio",
        },
    ],
}
TEXT_FIELDS: dict[str, Any] = {
    "text": "one\ntwo",
    "color": "red",
    "backgroundColor": "#0008",
    "fontFamily": "Open Sans, sans-serif",
    "fontSize": 40,
    "fontStyle": "italic",
    "fontWeight": "bold",
    "lineHeight": 1.5,
    "padding": 8,
    "border": "1px solid red",
    "borderRadius": 4,
    "textAlign": "justify",
    "textPosition": {"x": "center", "y": "bottom"},
    "textDecoration": "underline",
    "backgroundTransform": "skewX(-10deg)",
    "textTransform": "uppercase",
    "tailwind": "text-xl font-bold",
    "fit": "shrink",
    "maxLines": 2,
    "ellipsis": True,
    "stroke": {"color": "black", "width": 2},
    "shadow": {"color": "#00000080", "x": 1, "y": 2, "blur": 3},
    "letterSpacing": 1.5,
}
LOTTIE = {"v": "5", "fr": 30, "ip": 0, "op": 60, "w": 100, "h": 50, "layers": []}
FULL = config_of(
    video(
        position={"x": "right", "y": 10.5, "z": 2, "angleY": 30, "origin": "10px 20%"},
        size={"width": 100, "format": "fill", "crop": {"top": 0.1}, "focus": {"x": 0}},
        speed=1.5,
        loop=3,
        chromaKey={"color": "lime"},
        filters=[{"name": "brightness", "options": {"brightness": 120}}],
        audio={"volume": 0.25, "duck": {"under": ["a"], "amount": 0.5}},
        onError="skip",
        fallbackFile=PICTURE,
        transitions=[
            {"type": "fadeIn", "options": {"duration": 0.5, "audio": False}},
            {"type": "angle", "options": {"time": 1, "value": 90, "easing": "steps(4)"}},
            {
                "type": "scale",
                "options": {
                    "time": 2,
                    "value": 2,
                    "easing": "elasticOut",
                    "easingParameter": 2,
                },
            },
            {"type": "slideOut", "options": {"duration": 1, "direction": "top"}},
        ],
    ),
    {"type": "audio", "id": "a", "file": VIDEO, "timeline": {"start": "after:v+0.5"}},
    image(id=7, freeze=None),
    {"type": "text", "id": "t", "text": TEXT_FIELDS, "opacity": 0.5},
    {"type": "html", "html": {"page": {"body": "<p>", "styles": "p{}"}, "withTailwind": True}},
    {"type": "html", "page": "<html>", "withTransparentBackground": True, "selector": "#x"},
    {"type": "html", "url": "https://a.example/"},
    {"type": "lottie", "lottie": LOTTIE, "loop": True},
    {"type": "waveform", "waveform": {"style": "roundBars", "color": "hsl(120, 100%, 25%)"}},
    {"type": "subtitles", "file": "https://a.example/x.srt", "subtitles": {"fontSize": 40}},
    {"type": "filter", "filter": {"name": "grayscale"}},
    {
        "type": "group",
        "id": "g",
        "layers": [text(id="inner", timeline={"start": "with:other"}), text(id="other")],
    },
    {"type": "sequence", "layers": [image(id="s1"), image(id="s2")]},
    {"type": "shape", "shape": {"kind": "path", "path": "M 0 0 L 5 5 Z", "strokeWidth": 2}},
    duration=12.5,
    fps=29.97,
    extension="webm",
    filename="film.webm",
    metadata={"order": [1, 2.5, None, "x"]},
    fonts=[{"family": "My Font", "src": "https://a.example/f.woff2", "weight": 700}],
    audio={"normalize": True, "target": -14},
    preset="high",
    output={"crf": 18},
    callback="https://a.example/hook",
)


@pytest.mark.spec("2.4")
def test_examples_of_the_specification_are_read_without_warnings() -> None:
    found = read_config(VIDEO_CONFIG)
    assert found.warnings == ()
    first, second = found.config.layers
    assert isinstance(first, VideoLayer)
    assert first.position.x is Align.CENTER
    assert first.size.format is Format.FIT
    assert second.trim.start_s == 2
    assert found.config.duration_s == 5


@pytest.mark.spec("2.4")
def test_the_normal_form_contains_the_posted_values() -> None:
    written = write_config(read_config(VIDEO_CONFIG).config)
    assert written["shouldWatermark"] is False
    for sent, shown in zip(VIDEO_CONFIG["layers"], written["layers"], strict=True):
        for name, value in sent.items():
            if isinstance(value, dict):
                assert {**shown[name], **value} == shown[name], name
            else:
                assert shown[name] == value, name


@pytest.mark.spec("2.4")
def test_source_is_shown_as_file() -> None:
    layer = {"type": "video", "source": VIDEO}
    assert write_config(read(layer))["layers"][0]["file"] == VIDEO
    assert "source" not in write_config(read(layer))["layers"][0]


@pytest.mark.parametrize("config", [VIDEO_CONFIG, FULL], ids=["spec", "full"])
def test_a_normal_form_reads_back_as_the_same_config(config: dict[str, Any]) -> None:
    once = read_config(config)
    again = read_config(json.dumps(write_config(once.config)))
    assert again.config == once.config
    assert again.warnings == ()


def test_all_types_of_layers_are_known() -> None:
    kinds = {layer["type"] for layer in FULL["layers"]}
    assert len(kinds) == 12
    assert read_config(FULL).warnings == ()


def test_the_older_name_of_the_preset_is_read() -> None:
    config = read(image(), duration=1, output={"quality": "high", "crf": 20})
    assert (config.preset, config.output.crf) == (RenderPreset.HIGH, 20)
    assert config == read(image(), duration=1, preset="high", output={"crf": 20})


def test_the_nearest_preset_is_suggested() -> None:
    with pytest.raises(InvalidConfig) as refused:
        read(image(), duration=1, preset="hihg")
    (issue,) = refused.value.details["issues"]
    assert (issue["path"], issue["code"]) == ("preset", "unknown_value")
    assert "high" in issue["hint"]


def test_defaults_are_those_of_the_documentation() -> None:
    config = read(
        video(),
        {"type": "text", "text": {"text": "x"}},
        {"type": "waveform"},
        {"type": "subtitles", "file": VIDEO},
        duration=1,
    )
    assert config.background == Colour(0, 0, 0, 255)
    assert (config.fps, config.extension) == (30, Extension.MP4)
    assert config.preset is RenderPreset.STANDARD
    assert (config.audio.limiter, config.audio.normalize) == (True, False)
    clip, words, wave, captions = config.layers
    assert isinstance(clip, VideoLayer)
    assert isinstance(words, TextLayer)
    assert isinstance(wave, WaveformLayer)
    assert isinstance(captions, SubtitlesLayer)
    assert (clip.sound.volume, clip.speed, clip.loop) == (1, 1, Loop(1))
    assert (clip.on_error, clip.opacity, clip.is_visible) == (OnError.FAIL, 1, True)
    style = words.text
    assert (style.color, style.background) == (WHITE, TRANSPARENT)
    assert (style.font_family, style.font_size_px, style.padding_px) == ("Helvetica", 100, 16)
    assert (style.font_weight, style.line_height) == (400, 1.2)
    assert wave.waveform.style.value == "bars"
    assert captions.subtitles.font_size_px == 32
    assert captions.position.x is Align.CENTER
    assert (captions.position.y, captions.position.is_relative) == (0.85, True)


def test_all_fields_of_text_objects_are_read() -> None:
    layer = read({"type": "text", "text": TEXT_FIELDS}, duration=1).layers[0]
    assert isinstance(layer, TextLayer)
    assert layer.text.font_weight == 700
    assert layer.text.shadow is not None
    assert layer.text.shadow.color == Colour(0, 0, 0, 128)
    assert layer.text.background == Colour(0, 0, 0, 0x88)


def test_a_list_of_lines_becomes_text_with_line_breaks() -> None:
    layer = read({"type": "text", "text": {"lines": ["a", "b"]}}, duration=1).layers[0]
    assert isinstance(layer, TextLayer)
    assert layer.text.text == "a\nb"


def test_null_means_absent_everywhere() -> None:
    def nulled(value: dict[str, Any]) -> dict[str, Any]:
        return {**value, "trim": None, "size": {"width": None, "format": None}, "name": None}

    plain = read(video(), duration=1)
    assert read(nulled(video()), duration=1, fps=None, metadata=None) == plain


@pytest.mark.parametrize("sent", [0, None])
def test_a_size_of_zero_means_auto(sent: object) -> None:
    layer = read(image(size={"width": 100, "height": sent})).layers[0]
    assert isinstance(layer, ImageLayer)
    assert layer.size.height_px is None


def test_numeric_ids_become_text_and_missing_ids_are_stable() -> None:
    layers = ({"type": "image", "id": 3, "file": PICTURE}, {"type": "image", "file": PICTURE})
    one, two = read(*layers, duration=1).layers
    assert one.id == "3"
    assert two.id == read(*layers, duration=1).layers[1].id
    assert len(two.id) == 36


def test_both_forms_of_transitions_are_equal() -> None:
    older = read(video(transitions=[{"type": "fadeIn", "duration": 2}]))
    newer = read(video(transitions=[{"type": "fadeIn", "options": {"duration": 2}}]))
    assert older == newer
    assert older.layers[0].transitions == (Fade(True, Fraction(2)),)


def test_ken_burns_becomes_two_keyframes_of_each_property() -> None:
    options = {"start": 1, "end": 3, "scale1": 1, "scale2": 1.5, "x1": 0, "x2": -50}
    frames = read(video(transitions=[{"type": "kenBurns", "options": options}])).layers[0]
    assert frames.transitions == (
        Keyframe(Property.SCALE, Fraction(1), 1.0),
        Keyframe(Property.SCALE, Fraction(3), 1.5),
        Keyframe(Property.X, Fraction(1), 0.0),
        Keyframe(Property.X, Fraction(3), -50.0),
    )


@pytest.mark.parametrize(
    ("sent", "exact"),
    [(29.97, Fraction(30000, 1001)), (23.976, Fraction(24000, 1001)), (12.5, Fraction(25, 2))],
)
def test_rates_are_exact(sent: float, exact: Fraction) -> None:
    config = read(video(), fps=sent)
    assert config.fps == exact
    assert read_config(write_config(config)).config.fps == exact


def test_times_are_exact_decimals() -> None:
    layer = read(video(timeline={"start": 0.1}, trim={"start": 0.2, "end": 0.3})).layers[0]
    assert layer.start.at_s == Fraction(1, 10)
    assert (layer.trim.start_s, layer.trim.end_s) == (Fraction(1, 5), Fraction(3, 10))


def test_clamped_values_cause_a_warning() -> None:
    config = config_of(
        video(audio={"volume": 3}, trim={"start": -2}),
        dimensions={"width": 641, "height": 359.6},
    )
    found = read_config(config)
    assert {warning.path: warning.code for warning in found.warnings} == {
        "layers.0.audio.volume": "clamped",
        "layers.0.trim.start": "clamped",
        "dimensions.width": "adjusted",
        "dimensions.height": "adjusted",
    }
    layer = found.config.layers[0]
    assert isinstance(layer, VideoLayer)
    assert (layer.sound.volume, layer.trim.start_s) == (1, 0)
    assert found.config.dimensions is not None
    assert (found.config.dimensions.width_px, found.config.dimensions.height_px) == (642, 360)


def test_when_outside_templates_causes_a_warning() -> None:
    assert warnings_of(config_of(video(when="x")))["layers.0.when"].code == "templates_only"


def test_placeholders_outside_templates_cause_a_warning_by_field() -> None:
    config = config_of(
        text(text={"text": "Hi {{ name }}"}),
        {"type": "html", "html": {"page": {"body": "{% if a %}x{% endif %}"}}},
        {"type": "html", "html": {"page": {"body": "<script>fill()</script>{{ mine }}"}}},
        metadata={"note": "{{ kept }}"},
        duration=1,
    )
    found = warnings_of(config)
    assert set(found) == {"layers.0.text.text", "layers.1.html.page.body"}
    warning = found["layers.0.text.text"]
    assert warning.code == "templates_only"
    assert warning.message == "{{ name }} is not filled in here and stays as it is written"
    assert "POST /v2/templates" in (warning.hint or "")
    assert read_config(config, ReadOptions(is_filled_template=True)).warnings == ()


def test_a_refused_placeholder_names_templates_as_the_remedy() -> None:
    with pytest.raises(InvalidConfig) as refused:
        read_config(config_of(video(file="{{ source }}", speed="{{ speed }}")))
    issues = {issue.path: issue for issue in refused.value.issues}
    for path in ("layers.0.file", "layers.0.speed"):
        assert "POST /v2/templates" in (issues[path].hint or "")


def test_filled_templates_may_have_numbers_as_text() -> None:
    config = config_of(video(position={"x": "12.5"}, visible="false", loop="2"))
    options = ReadOptions(is_filled_template=True)
    layer = read_config(config, options).config.layers[0]
    assert isinstance(layer, VideoLayer)
    assert (layer.position.x, layer.is_visible, layer.loop) == (12.5, False, Loop(2))
    assert issues_of(config_of(video(speed="fast")), options) == {"layers.0.speed": "type"}


def test_uploads_replace_files() -> None:
    options = ReadOptions(uploads={"v": "upload:1"})
    layer = read_config(config_of({"type": "video", "id": "v"}), options).config.layers[0]
    assert isinstance(layer, VideoLayer)
    assert layer.file == "upload:1"
    assert issues_of(config_of(video(id="w", file="upload:2")), options) == {
        "layers.0.file": "remote_url_required"
    }


def test_limits_can_be_set() -> None:
    options = ReadOptions(limits=ConfigLimits(duration_s=10, layers=1))
    assert issues_of(config_of(video(), duration=11), options) == {"duration": "out_of_range"}
    assert issues_of(config_of(video(), image()), options) == {"layers": "out_of_range"}


def test_html_may_be_text_or_an_object() -> None:
    loose = read(
        {"type": "html", "id": "h", "page": {"body": "x"}, "withTailwind": True}, duration=1
    ).layers[0]
    held = read(
        {"type": "html", "id": "h", "html": {"page": {"body": "x"}, "withTailwind": True}},
        duration=1,
    ).layers[0]
    assert loose == held
    assert isinstance(loose, HtmlLayer)
    assert loose.html.body == "x"


def test_words_of_shapes_and_filters_are_case_insensitive() -> None:
    (shape,) = read({"type": "Shape", "shape": {"kind": "ELLIPSE"}}, duration=1).layers
    assert isinstance(shape, ShapeLayer)
    config = read(video(filters=[{"name": "fadeIn", "options": {"duration": 2}}]))
    layer = config.layers[0]
    assert isinstance(layer, VideoLayer)
    assert layer.filters[0].name is FilterName.FADE_IN


def test_equal_films_have_equal_digests() -> None:
    one = read(video(position={"x": 0}), backgroundColor="black", metadata={"a": 1})
    two = read(video(), backgroundColor="#000", filename="other.mp4")
    assert config_digest(one) == config_digest(two)
    assert config_digest(one) != config_digest(replace(one, fps=Fraction(25)))
    assert config_digest(one, {VIDEO: "a"}) != config_digest(one, {VIDEO: "b"})
    assert config_digest(one).startswith("sha256:")


@pytest.mark.parametrize("speed", [0.1, "0.1", 10])
def test_the_bounds_of_the_speed_are_allowed(speed: object) -> None:
    options = ReadOptions(is_filled_template=True)
    (layer,) = read_config(config_of(video(speed=speed)), options).config.layers
    assert isinstance(layer, VideoLayer)
    assert layer.speed == Fraction(str(speed))
