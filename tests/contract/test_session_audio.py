"""Audio from a confined child is that of this process, bit by bit; a child that lies is stopped."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from framekiln.kit.confined.errors import ConfinedKilled
from framekiln.kit.confined.limits import SessionLimits
from framekiln.kit.confined.session import SessionPool
from framekiln.kit.confined.session_source import SessionSource
from framekiln.kit.ranged_path import BLOCK_BYTES, SparseCopy, ranged_path
from framekiln.media.audio.decoder import RATE_HZ, ReadAudio, Samples, read_audio
from framekiln.media.audio.mix import AudioClip, mix
from framekiln.media.audio.mix_settings import AudioCoding, AudioSettings, Mastering
from framekiln.media.audio.source_samples import SourceSamples
from framekiln.media.errors import UnreadableMedia
from framekiln.media.session_audio import SessionAudio
from framekiln.media.source_session import SourceSession
from tests.support.clips import Clip, make_clip
from tests.support.hostile_media import mislabelled_sounds
from tests.support.timeouts import TIMEOUT_S

LIMITS = SessionLimits(request_s=TIMEOUT_S, request_cpu_s=int(TIMEOUT_S))
SOURCES: dict[str, tuple[str, dict[str, Any]]] = {
    "a.wav": ("pcm_s16le", {"sample_rate_hz": 44_100}),
    "mono.wav": ("pcm_s16le", {"channels": 1}),
    "a.flac": ("flac", {}),
    "a.mp3": ("libmp3lame", {"sample_rate_hz": 44_100}),
    "a.m4a": ("aac", {}),
    "a.ogg": ("libopus", {}),
    "a.webm": ("libopus", {}),
    "a.mkv": ("aac", {"sample_rate_hz": 44_100, "beep_delay_ms": 300}),
    "film.mp4": ("aac", {"video_codec": "libx264", "width": 64, "height": 48}),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sounds")
    for name, (codec, more) in SOURCES.items():
        wishes = {"duration_s": Fraction(3), "video_codec": None, "audio_codec": codec, **more}
        make_clip(folder / name, Clip(**wishes))
    return folder


@pytest.fixture(scope="module")
def session() -> Iterator[SourceSession]:
    with SourceSession(LIMITS) as session:
        yield session


def samples_of(read: ReadAudio, path: Path, start: int, end: int) -> list[tuple[int, Samples]]:
    """Read audio, and join what is without gaps."""
    runs: list[tuple[int, list[Samples]]] = []
    for chunk in read(path, start, end):
        if runs and runs[-1][0] + sum(part.shape[1] for part in runs[-1][1]) == chunk.first:
            runs[-1][1].append(chunk.samples.copy())
        else:
            runs.append((chunk.first, [chunk.samples.copy()]))
    return [(first, np.concatenate(parts, axis=1)) for first, parts in runs]


def assert_same(one: list[tuple[int, Samples]], other: list[tuple[int, Samples]]) -> None:
    assert [first for first, _ in one] == [first for first, _ in other]
    for (_, mine), (_, yours) in zip(one, other, strict=True):
        assert np.array_equal(mine, yours)


@pytest.mark.parametrize("name", SOURCES)
def test_audio_is_the_same_from_any_start(session: SourceSession, folder: Path, name: str) -> None:
    for start, end in ((0, 1 << 62), (61_234, 130_001), (10 * RATE_HZ, 11 * RATE_HZ)):
        here = samples_of(read_audio, folder / name, start, end)
        assert_same(samples_of(SessionAudio(session).read, folder / name, start, end), here)


def clips(folder: Path) -> list[AudioClip]:
    second = Fraction(1000)
    return [
        AudioClip(folder / "a.wav", 0 * second, 3 * second),
        AudioClip(folder / "a.mp3", second / 3, 2 * second, second / 7, gain=0.5),
        AudioClip(folder / "a.m4a", second, 3 * second, speed=Fraction(3, 2)),
        AudioClip(folder / "a.ogg", second, 3 * second, speed=Fraction(1, 2), keeps_pitch=False),
        AudioClip(
            folder / "film.mp4", 0 * second, 2 * second, gains=((0 * second, 0.0), (second, 1.0))
        ),
    ]


@pytest.mark.parametrize(
    ("coding", "mastering"),
    [
        (AudioCoding.AAC, Mastering()),
        (AudioCoding.OPUS, Mastering(target_lufs=-16, is_true_peak=True)),
        (AudioCoding.PCM, Mastering(has_limiter=False)),
    ],
)
def test_a_mix_is_the_same_bytes(
    session: SourceSession, folder: Path, tmp_path: Path, coding: AudioCoding, mastering: Mastering
) -> None:
    films = []
    for number, read in enumerate((read_audio, SessionAudio(session).read)):
        path = tmp_path / str(number)
        mix(
            clips(folder),
            3000,
            path,
            settings=AudioSettings(coding),
            mastering=mastering,
            read=read,
        )
        films.append(path.read_bytes())
    assert films[0] == films[1]


def test_a_source_closed_meanwhile_continues_at_the_same_sample(
    folder: Path, tmp_path: Path
) -> None:
    mix(clips(folder), 3000, tmp_path / "here")
    with SourceSession(replace(LIMITS, open_sources=2)) as session:
        mix(clips(folder), 3000, tmp_path / "child", read=SessionAudio(session).read)
    assert (tmp_path / "here").read_bytes() == (tmp_path / "child").read_bytes()


def test_samples_for_waveforms_are_the_same(session: SourceSession, folder: Path) -> None:
    path = folder / "a.m4a"
    with SourceSamples(path) as here, SourceSamples(path, SessionAudio(session).read) as there:
        for ms in (0, 500, 1700, 200, 2999, 5000):
            assert np.array_equal(here.before(Fraction(ms), 2048), there.before(Fraction(ms), 2048))


def test_only_the_used_ranges_of_a_remote_source_are_fetched(
    session: SourceSession, folder: Path, tmp_path: Path
) -> None:
    content = (folder / "a.wav").read_bytes()
    # A long one, of which only the beginning has a sound.
    data = content[:4] + content[4:44] + content[44:] * 40
    parts: list[int] = []

    def get(start: int, end: int) -> bytes:
        parts.append(end - start)
        return data[start:end]

    path = ranged_path(tmp_path / "far.wav", SparseCopy(tmp_path / "far.wav", len(data), get))
    near = tmp_path / "near.wav"
    near.write_bytes(data)
    heard = samples_of(SessionAudio(session).read, path, RATE_HZ, 2 * RATE_HZ)
    assert_same(heard, samples_of(read_audio, near, RATE_HZ, 2 * RATE_HZ))
    assert sum(parts) <= 8 * BLOCK_BYTES < len(data)


def test_errors_are_those_of_this_process(session: SourceSession, tmp_path: Path) -> None:
    silent = make_clip(tmp_path / "silent.mp4", Clip(audio_codec=None))
    with pytest.raises(UnreadableMedia, match=r"silent\.mp4: has no audio track"):
        next(SessionAudio(session).read(silent, 0, 100))
    (tmp_path / "text.mp4").write_text("Once upon a time")
    with pytest.raises(UnreadableMedia, match=r"text\.mp4: not readable"):
        next(SessionAudio(session).read(tmp_path / "text.mp4", 0, 100))


def test_sounds_with_a_false_duration_end(session: SourceSession, tmp_path: Path) -> None:
    for number, data in enumerate(mislabelled_sounds(tmp_path).values()):
        path = tmp_path / f"{number}.m4a"
        path.write_bytes(data)
        with suppress(UnreadableMedia):
            heard = samples_of(SessionAudio(session).read, path, 0, 2 * RATE_HZ)
            assert sum(run.shape[1] for _, run in heard) <= 2 * RATE_HZ


class FixedAnswerSession(SourceSession):
    """A session whose child gives the answer that a test chooses."""

    def __init__(self, answer: dict[str, Any]) -> None:
        super().__init__(LIMITS)
        self._answer = answer
        self._pool = SessionPool(["tests.support.session_sources"])
        self._child = self._pool.open(LIMITS)

    def open(
        self, served: str, path: Path, args: dict[str, Any], *, name: str | None = None
    ) -> SessionSource:
        source = self._child.open(
            "tests.support.session_sources:FixedAnswer", path, {"answer": self._answer}
        )
        assert served == "ServedAudio"
        return source

    def close(self) -> None:
        self._child.close()
        self._pool.close()


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"slot": 0, "first": 0},
        {"slot": 0, "first": 0, "count": -1},
        {"slot": 0, "first": 0, "count": 48_001},
        {"slot": 0, "first": 0, "count": 101},
        {"slot": 0, "first": -1, "count": 10},
        {"slot": 0, "first": 91, "count": 10},
        {"slot": 1, "first": 0, "count": 10},
        {"slot": 0, "first": 0.0, "count": 10},
        {"slot": 0, "first": 0, "count": True},
    ],
)
def test_a_child_with_impossible_answers_is_stopped(folder: Path, answer: dict[str, Any]) -> None:
    with (
        FixedAnswerSession(answer) as session,
        pytest.raises(ConfinedKilled, match="invalid answer"),
    ):
        list(SessionAudio(session).read(folder / "a.wav", 0, 100))
