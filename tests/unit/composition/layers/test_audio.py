"""What is heard, when, and how loud."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from framekiln.composition.layers import LayerAudio
from tests.unit.composition.layers.configs import (
    MUSIC,
    config_of,
    film,
    issues_of,
    text,
    video,
)


def music(**fields: Any) -> dict[str, Any]:
    return {"type": "audio", "id": "m", "file": MUSIC, **fields}


def sound_of(*layers: dict[str, Any], name: str = "m", **top: Any) -> LayerAudio:
    return next(sound for sound in film(*layers, **top).sounds if sound.layer_id == name)


def pieces(sound: LayerAudio) -> list[tuple[float, ...]]:
    return [
        (float(each.start_s), float(each.end_s), float(each.source_in_s), float(each.speed))
        for each in sound.segments()
    ]


def fade(name: str, duration: float, **more: Any) -> dict[str, Any]:
    return {"type": name, "options": {"duration": duration, **more}}


PIECES: list[tuple[str, dict[str, Any], list[tuple[float, ...]]]] = [
    ("plain", music(), [(0, 3, 0, 1)]),
    ("trimmed", music(trim={"start": 1, "end": 2}), [(0, 1, 1, 1)]),
    ("later", music(timeline={"start": 2}), [(2, 5, 0, 1)]),
    ("before zero", music(timeline={"start": -1}), [(0, 2, 1, 1)]),
    ("faster", music(speed=2), [(0, 1.5, 0, 2)]),
    ("twice", music(loop=2, timeline={"start": -2}), [(0, 1, 2, 1), (1, 4, 0, 1)]),
    (
        "for ever",
        music(loop=True, trim={"start": 1}),
        [(0, 2, 1, 1), (2, 4, 1, 1), (4, 6, 1, 1), (6, 7, 1, 1)],
    ),
]


@pytest.mark.parametrize(
    ("layer", "expected"), [row[1:] for row in PIECES], ids=[row[0] for row in PIECES]
)
def test_layers_become_audio_clips_at_their_times(
    layer: dict[str, Any], expected: list[tuple[float, ...]]
) -> None:
    assert pieces(sound_of(layer, duration=7)) == expected


def test_videos_are_heard_until_they_freeze() -> None:
    sound = sound_of(video(trim={"end": 3}, freeze=True), name="v", duration=7)
    assert pieces(sound) == [(0, 3, 0, 1)]


def test_layers_without_sound_have_no_clips() -> None:
    layer = {"type": "waveform", "file": MUSIC}
    assert film(layer).sounds == ()


def test_audio_shorter_than_a_frame_is_heard_without_a_warning() -> None:
    config = film(music(trim={"end": 0.02}), duration=2, fps=10)
    assert len(config.sounds) == 1
    assert not config.warnings


def gains(sound: LayerAudio, *times: float) -> list[float]:
    return [sound.gain_at(Fraction(str(time))) for time in times]


def test_volume_and_fades_multiply() -> None:
    sound = sound_of(music(audio={"volume": 0.5}, transitions=[fade("fadeOut", 1)]))
    assert gains(sound, 0, 2, 2.5, 3) == pytest.approx([0.5, 0.5, 0.25, 0])


def test_a_fade_may_exclude_the_audio() -> None:
    sound = sound_of(video(transitions=[fade("fadeIn", 2, audio=False)]), name="v")
    assert gains(sound, 0, 1) == [1, 1]


SILENT_OUT, SILENT_IN = (
    fade("crossfadeOut", 1, audio=False),
    fade("crossfadeIn", 1, audio=False),
)


@pytest.mark.parametrize(
    ("old", "new", "heard"),
    [
        ([SILENT_OUT], [], (1, 1)),
        ([], [SILENT_IN], (1, 1)),
        ([SILENT_OUT], [fade("crossfadeIn", 1)], (1, 0.5)),
        ([SILENT_OUT], [fade("fadeIn", 1)], (1, 0.5)),
    ],
)
def test_a_crossfade_of_a_sequence_may_exclude_the_audio(
    old: list[dict[str, Any]], new: list[dict[str, Any]], heard: tuple[float, float]
) -> None:
    layers = [
        video(id="v", trim={"end": 2}, transitions=old),
        video(id="w", trim={"end": 2}, transitions=new),
    ]
    sequence = {"type": "sequence", "layers": layers}
    found = [gains(sound_of(sequence, name=name), 1.5)[0] for name in ("v", "w")]
    assert found == pytest.approx(heard)


def test_volume_keyframes_replace_the_volume() -> None:
    frames = [{"type": "volume", "options": {"time": t, "value": v}} for t, v in ((0, 0), (2, 1))]
    sound = sound_of(music(audio={"volume": 0.1}, transitions=frames))
    assert gains(sound, 0, 1, 2, 3) == pytest.approx([0, 0.5, 1, 1])


def test_a_group_fades_its_children() -> None:
    group = {
        "type": "group",
        "timeline": {"start": 1},
        "layers": [music(transitions=[fade("fadeIn", 2)])],
        "transitions": [fade("fadeIn", 2)],
    }
    sound = sound_of(group)
    assert gains(sound, 1, 2, 3) == pytest.approx([0, 0.25, 1])
    assert sound.start_s == 1


def test_a_group_ends_its_children() -> None:
    group = {"type": "group", "trim": {"start": 1, "end": 2}, "layers": [music()]}
    assert pieces(sound_of(group)) == [(0, 1, 1, 1)]


def test_a_hidden_group_is_silent() -> None:
    group = {"type": "group", "visible": False, "layers": [music()]}
    assert film(group).sounds == ()


def test_ducking_lowers_the_volume_under_other_layers() -> None:
    duck = {"under": ["v"], "amount": 0.8}
    voice = video(timeline={"start": 2}, trim={"end": 2})
    sound = sound_of(music(loop=True, audio={"duck": duck}), voice, duration=8)
    assert gains(sound, 1, 1.875, 2, 3, 4, 5) == pytest.approx([1, 0.6, 0.2, 0.2, 0.2, 1])


@pytest.mark.parametrize("container", ["group", "sequence"])
def test_ducking_under_a_container_follows_every_sound_in_it(container: str) -> None:
    voices = [video(id=name, trim={"end": 1}) for name in ("v", "w")]
    voices[0]["timeline"] = {"start": 1} if container == "group" else {}
    inner = {"type": container, "id": "inner", "layers": voices}
    outer = {"type": "group", "id": "outer", "timeline": {"start": 2}, "layers": [inner]}
    duck = {"under": ["outer"], "amount": 0.8}
    sound = sound_of(music(loop=True, audio={"duck": duck}), outer, duration=8)
    assert gains(sound, 1.5, 2.5, 3.5, 4.5) == pytest.approx([1, 0.2, 0.2, 1])


@pytest.mark.parametrize(
    "silent",
    [text(id="v"), video(visible=False), {"type": "group", "id": "v", "layers": [text()]}],
    ids=["text", "hidden", "group without sound"],
)
def test_ducking_under_a_layer_without_sound_causes_a_warning(silent: dict[str, Any]) -> None:
    resolved = film(music(audio={"duck": {"under": ["v"]}}), silent, duration=3)
    assert [(each.path, each.code) for each in resolved.warnings] == [
        ("layers.0.audio.duck.under", "no_effect")
    ]
    assert gains(resolved.sounds[0], 0.5, 2.5) == [1, 1]


def ducking(name: str, *under: str) -> dict[str, Any]:
    return music(id=name, audio={"duck": {"under": list(under)}})


@pytest.mark.parametrize(
    ("layers", "paths"),
    [
        ([ducking("a", "a")], ["layers.0"]),
        ([ducking("a", "b"), ducking("b", "a"), music()], ["layers.0", "layers.1"]),
        (
            [ducking("a", "b"), ducking("b", "c"), ducking("c", "b"), ducking("m", "a")],
            ["layers.1", "layers.2"],
        ),
        (
            [
                {"type": "group", "id": "g", "layers": [ducking("a", "s")]},
                {"type": "sequence", "id": "s", "layers": [ducking("b", "g")]},
            ],
            ["layers.0.layers.0", "layers.1.layers.0"],
        ),
    ],
    ids=["itself", "each other", "others after", "through containers"],
)
def test_layers_that_duck_under_themselves_are_refused(
    layers: list[dict[str, Any]], paths: list[str]
) -> None:
    found = {f"{path}.audio.duck.under": "circular_start" for path in paths}
    assert issues_of(config_of(*layers)) == found


def test_a_chain_of_ducking_is_allowed() -> None:
    group = {"type": "group", "id": "g", "layers": [ducking("b", "c"), music(id="c")]}
    assert issues_of(config_of(ducking("a", "g", "b"), group)) == {}


def test_ducking_under_an_unknown_layer_is_refused() -> None:
    assert issues_of(config_of(music(), ducking("a", "m", "nobody"))) == {
        "layers.1.audio.duck.under.1": "unknown_layer"
    }


@pytest.mark.parametrize("easing", ["linear", "easeInOut", "elasticOut"])
def test_gain_is_linear_between_gain_points(easing: str) -> None:
    frames = [
        {"type": "volume", "options": {"time": t, "value": v, "easing": easing}}
        for t, v in ((0.5, 0), (2, 1))
    ]
    sound = sound_of(music(transitions=[*frames, fade("fadeOut", 2)]))
    points = sound.gain_points()
    assert points[0][0] == sound.start_s
    assert points[-1][0] == sound.end_s
    times = np.linspace(0, 3, 301)
    drawn = np.interp(times, [float(time) for time, _ in points], [gain for _, gain in points])
    exact = [sound.gain_at(Fraction(time)) for time in times]
    assert np.abs(drawn - exact).max() < 0.005


def test_two_volume_keyframes_at_one_time_are_a_jump() -> None:
    frames = [
        {"type": "volume", "options": {"time": t, "value": v}} for t, v in ((0, 1), (1, 1), (1, 0))
    ]
    points = sound_of(music(transitions=frames)).gain_points()
    assert [(float(time), gain) for time, gain in points] == [(0, 1), (0.995, 1), (1, 0), (3, 0)]


def test_a_plain_sound_has_two_gain_points() -> None:
    assert sound_of(music(audio={"volume": 0.5})).gain_points() == [(0, 0.5), (3, 0.5)]
