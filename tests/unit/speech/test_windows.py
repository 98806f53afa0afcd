"""Voice to spans, spans to windows, and back from windows to the sound."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from framekiln.speech.voice_activity import FRAME_MS, SpeechSpan, speech_spans
from framekiln.speech.windows import WINDOW_MS, SpeechWindow, pack_windows, quietest_ms


def noise(duration_ms: int) -> np.ndarray:
    return np.random.default_rng(3).normal(0, 0.1, duration_ms * 16).astype(np.float32)


def test_speech_starts_at_a_high_and_ends_at_a_low_threshold() -> None:
    probabilities = np.array([0.1, 0.4, 0.6, 0.4, 0.36, 0.2, 0.1, 0.4], np.float32)
    found = speech_spans(probabilities, least_ms=0, pause_ms=0)
    assert found == [SpeechSpan(2 * FRAME_MS, 5 * FRAME_MS)]


def test_short_pauses_do_not_end_speech_and_clicks_are_ignored() -> None:
    probabilities = np.zeros(100, np.float32)
    probabilities[10:20] = probabilities[25:40] = probabilities[80:82] = 1
    assert speech_spans(probabilities, least_ms=200, pause_ms=300) == [
        SpeechSpan(10 * FRAME_MS, 40 * FRAME_MS)
    ]


def test_speech_to_the_very_end_is_kept() -> None:
    assert speech_spans(np.ones(20, np.float32)) == [SpeechSpan(0, 20 * FRAME_MS)]


def test_silence_gives_no_window() -> None:
    assert pack_windows([], noise(1000)) == []


spans = st.lists(st.tuples(st.integers(1, 9000), st.integers(200, 70_000)), max_size=8)


@given(spans)
def test_windows_hold_all_speech_in_order_and_are_never_too_long(
    gaps: list[tuple[int, int]],
) -> None:
    speech, at_ms = [], 0
    for pause_ms, length_ms in gaps:
        speech.append(SpeechSpan(at_ms + pause_ms, at_ms + pause_ms + length_ms))
        at_ms = speech[-1].end_ms
    windows = pack_windows(speech, np.zeros((at_ms + 100) * 16, np.float32))
    pieces = [piece for window in windows for piece in window.pieces]
    assert all(window.duration_ms <= WINDOW_MS for window in windows)
    assert all(left.end_ms <= right.start_ms for left, right in pairwise(pieces))
    for span in speech:
        covered = sum(
            max(0, min(p.end_ms, span.end_ms) - max(p.start_ms, span.start_ms)) for p in pieces
        )
        assert covered == span.duration_ms


def test_long_speech_is_cut_where_it_is_quiet() -> None:
    samples = noise(50_000)
    samples[24_000 * 16 : 24_400 * 16] = 0
    first, second = pack_windows([SpeechSpan(0, 50_000)], samples)
    assert 24_000 < first.pieces[-1].end_ms < 24_400
    assert second.pieces[0].start_ms == first.pieces[-1].end_ms


def test_the_quietest_place_of_equal_ones_is_the_most_central() -> None:
    assert abs(quietest_ms(np.zeros(64_000, np.float32), 0, 4000) - 2000) <= 10


def test_both_sides_of_a_border_choose_the_same_quiet_point() -> None:
    samples = noise(20_000)
    samples[9_500 * 16 : 9_900 * 16] *= 0.01
    from_left = quietest_ms(samples[: 12_000 * 16], 8_000, 12_000)
    from_right = 7_000 + quietest_ms(samples[7_000 * 16 :], 1_000, 5_000)
    assert from_left == from_right
    assert 9_500 < from_left < 9_900


def test_times_in_a_window_map_back_to_the_source() -> None:
    window = SpeechWindow((SpeechSpan(1000, 3000), SpeechSpan(10_000, 11_000)))
    assert window.to_source(500, 900) == SpeechSpan(1500, 1900)
    assert window.to_source(2100, 2400) == SpeechSpan(10_100, 10_400)
    # Across the cut: belongs to where its middle is.
    assert window.to_source(1500, 2200) == SpeechSpan(2500, 3000)
    assert window.to_source(1900, 2600) == SpeechSpan(10_000, 10_600)
    assert window.to_source(2990, 9000) == SpeechSpan(10_990, 11_000)


def test_a_window_is_cut_to_its_pieces_and_split_in_two() -> None:
    samples = np.arange(20 * 16, dtype=np.float32)
    window = SpeechWindow((SpeechSpan(2, 4), SpeechSpan(10, 13)))
    assert window.cut(samples).tolist() == [*range(32, 64), *range(160, 208)]
    assert window.split(3) == (
        SpeechWindow((SpeechSpan(2, 4), SpeechSpan(10, 11))),
        SpeechWindow((SpeechSpan(11, 13),)),
    )
    assert window.split(1) == (
        SpeechWindow((SpeechSpan(2, 3),)),
        SpeechWindow((SpeechSpan(3, 4), SpeechSpan(10, 13))),
    )
