"""Whatever is sent as a config: it is read, or refused as a config, and nothing else happens."""

from contextlib import suppress
from fractions import Fraction
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from framekiln.composition.layers import (
    InvalidConfig,
    LayerStateCache,
    read_config,
    resolve,
    state_at,
    write_config,
)
from framekiln.composition.layers.values import LayerType
from tests.unit.composition.layers.configs import MEDIA, VIDEO

QUICK = settings(
    max_examples=150,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
NUMBERS = st.one_of(
    st.integers(-10, 10),
    st.floats(-10, 10),
    st.sampled_from([1e308, -1e308, 1e-308, float("nan"), float("inf"), 10**400, 0, -0.0]),
)
WORDS = st.sampled_from(
    ["center", "left", "fit", "fill", "#fff", "red", VIDEO, "fadeIn", "x", "after:a", "\ud800", ""]
)
WORDY = """
id type file source timeline trim start end position size x y z width height scale format audio
volume transitions options duration time value easing kenBurns text fontSize color layers filter
name filters shape kind html page lottie w h fr op loop speed opacity dimensions fps metadata crop
origin perspective subtitles waveform
"""
NAMES = st.sampled_from(WORDY.split())
LEAVES = st.one_of(st.none(), st.booleans(), NUMBERS, WORDS, st.text(max_size=4))
JSON = st.recursive(
    LEAVES,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(NAMES, inner, max_size=5)),
    max_leaves=25,
)
TYPES = st.sampled_from([kind.value for kind in LayerType])
LAYERS = st.builds(
    lambda fields, kind: {**fields, "type": kind}, st.dictionaries(NAMES, JSON, max_size=6), TYPES
)


@QUICK
@given(JSON)
def test_any_json_is_read_or_refused(value: Any) -> None:
    with suppress(InvalidConfig):
        read_config(value)


@QUICK
@given(st.lists(LAYERS, max_size=4), st.dictionaries(NAMES, JSON, max_size=3))
def test_layers_of_any_fields_are_read_or_refused(layers: Any, top: Any) -> None:
    config = {"dimensions": {"width": 64, "height": 64}, "duration": 3, **top, "layers": layers}
    try:
        found = read_config(config).config
    except InvalidConfig:
        return
    assert read_config(write_config(found)).config == found
    with suppress(InvalidConfig):
        resolve(found, MEDIA)


EASINGS = st.sampled_from(
    ["linear", "easeIn", "easeInOut", "easeOut", "elasticIn", "elasticOut", "elasticInOut"]
)
KEYFRAMES = st.builds(
    lambda which, time, value, easing: {
        "type": which,
        "options": {"time": time, "value": value, "easing": easing, "easingParameter": 2},
    },
    st.sampled_from(["x", "y", "scale", "angle", "angleX", "angleY", "opacity", "width", "blur"]),
    st.integers(0, 40).map(lambda tenths: tenths / 10),
    st.floats(0, 1),
    EASINGS,
)
FADES = st.builds(
    lambda which, duration: {"type": which, "options": {"duration": duration}},
    st.sampled_from(["fadeIn", "fadeOut", "slideIn", "slideOut", "wipeIn", "zoomOut"]),
    st.floats(0.1, 8),
)
MOVING = st.lists(st.one_of(KEYFRAMES, FADES), max_size=6)


def _film(transitions: list[dict[str, Any]]) -> Any:
    layer = {
        "type": "video",
        "file": VIDEO,
        "trim": {"end": 3},
        "timeline": {"start": 0.5},
        "size": {"width": 20, "height": 10, "format": "fit"},
        "transitions": transitions,
    }
    config = {"dimensions": {"width": 64, "height": 64}, "duration": 4, "layers": [layer]}
    return resolve(read_config(config).config, MEDIA)


@QUICK
@given(MOVING, st.fractions(0, 4, max_denominator=1000))
def test_states_stay_within_their_limits(transitions: Any, time_s: Fraction) -> None:
    layer = _film(transitions).layers[0]
    state = state_at(layer, time_s)
    assert 0 <= state.opacity <= 1
    assert state.scale >= 0
    assert state.width > 0
    assert state.height > 0
    assert state.blur_px >= 0
    assert 0 <= state.reveal.left <= state.reveal.left + state.reveal.width <= 1 + 1e-9
    assert 0 <= state.source_s <= 3
    assert state.is_visible == (Fraction(1, 2) <= time_s < Fraction(7, 2))


@QUICK
@given(MOVING, st.fractions(0, 4, max_denominator=1000))
def test_cached_states_equal_computed_ones(transitions: Any, time_s: Fraction) -> None:
    layer = _film(transitions).layers[0]
    states = LayerStateCache(layer)
    for number in range(0, 120, 7):
        states.at(Fraction(number, 30))
    assert states.at(time_s) == state_at(layer, time_s)


@QUICK
@given(
    st.lists(
        st.tuples(st.integers(0, 8), st.floats(-100, 100), EASINGS),
        min_size=1,
        max_size=5,
        unique_by=lambda frame: frame[0],
    ),
    st.fractions(0, 4, max_denominator=100),
)
def test_keyframed_values_do_not_jump(frames: Any, time_s: Fraction) -> None:
    transitions = [
        {"type": "x", "options": {"time": half / 2, "value": value, "easing": easing}}
        for half, value, easing in frames
    ]
    layer = _film(transitions).layers[0]
    step = Fraction(1, 100_000)
    before, after = state_at(layer, time_s), state_at(layer, time_s + step)
    # The steepest of them, an elastic one over half a second and 200 pixels, is far below this.
    assert abs(after.x - before.x) < 0.5
