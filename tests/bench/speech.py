"""How well and how fast real speech becomes text: errors, processor time, times of words.

Each engine that is here hears the same recordings; what children use counts too.
"""

import resource
import statistics
import time
from dataclasses import dataclass, replace

from rich.console import Console
from rich.table import Table

from framekiln.settings import Settings
from framekiln.speech.configuration import ENGINE_KINDS, SpeechSettings
from framekiln.speech.loader import SkippedEngine, candidate_engines
from framekiln.speech.transcriber import Transcriber
from tests.bench.cpu import process_cpu_s
from tests.support.speech_clips import CLIPS, TranscriptScore, read_clip, score


@dataclass(frozen=True)
class SpeechRow:
    """One recording, or all of them; `cpu_ratio` is processor seconds for a second of sound."""

    engine: str
    name: str
    duration_s: float
    word_error_rate: float
    cpu_ratio: float
    wall_ratio: float
    median_error_ms: float
    p90_error_ms: float


@dataclass(frozen=True)
class _Measured:
    name: str
    duration_s: float
    cpu_s: float
    wall_s: float
    score: TranscriptScore


def measure_speech() -> list[SpeechRow]:
    """Transcribe all recordings: each with the best engine, all together with each engine."""
    wanted = SpeechSettings.of(Settings())
    rows: list[SpeechRow] = []
    for kind in ENGINE_KINDS:
        settings = replace(wanted, engine=kind)
        if any(isinstance(found, SkippedEngine) for found in candidate_engines(settings)):
            continue
        speech = Transcriber.open(settings)
        measured = [_measure(speech, name) for name in CLIPS]
        shown = measured if not rows else []
        rows += [_row(speech.engine, one) for one in [*shown, _together(measured)]]
    return rows


def print_speech(rows: list[SpeechRow]) -> None:
    """Print one line for each recording, and one for each engine."""
    table = Table(title="Speech to text, real recordings")
    columns = ("engine", "recording", "seconds", "word errors", "CPU s/s", "wall s/s")
    for column in (*columns, "word start, median error", "90 % within"):
        table.add_column(column, justify="left" if column in columns[:2] else "right")
    for row in rows:
        table.add_row(
            row.engine,
            row.name,
            f"{row.duration_s:.1f}",
            f"{row.word_error_rate:.1%}",
            f"{row.cpu_ratio:.2f}",
            f"{row.wall_ratio:.2f}",
            f"{row.median_error_ms:.0f} ms",
            f"{row.p90_error_ms:.0f} ms",
        )
    Console(width=160).print(table)


def _measure(speech: Transcriber, name: str) -> _Measured:
    clip = read_clip(name)
    cpu, wall = _cpu_s(), time.perf_counter()
    transcript = speech.transcribe(clip.samples)
    return _Measured(
        name=name,
        duration_s=clip.duration_ms / 1000,
        cpu_s=_cpu_s() - cpu,
        wall_s=time.perf_counter() - wall,
        score=score(clip, transcript),
    )


def _cpu_s() -> float:
    """Return what we and the children that have ended used."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return process_cpu_s() + used.ru_utime + used.ru_stime


def _together(measured: list[_Measured]) -> _Measured:
    return _Measured(
        name="all",
        duration_s=sum(one.duration_s for one in measured),
        cpu_s=sum(one.cpu_s for one in measured),
        wall_s=sum(one.wall_s for one in measured),
        score=TranscriptScore(
            word_count=sum(one.score.word_count for one in measured),
            errors=sum(one.score.errors for one in measured),
            late_ms=tuple(late for one in measured for late in one.score.late_ms),
        ),
    )


def _row(engine: str, measured: _Measured) -> SpeechRow:
    errors_ms = [abs(late) for late in measured.score.late_ms]
    return SpeechRow(
        engine=engine,
        name=measured.name,
        duration_s=measured.duration_s,
        word_error_rate=measured.score.errors / measured.score.word_count,
        cpu_ratio=measured.cpu_s / measured.duration_s,
        wall_ratio=measured.wall_s / measured.duration_s,
        median_error_ms=statistics.median(errors_ms),
        p90_error_ms=statistics.quantiles(errors_ms, n=10)[-1],
    )


if __name__ == "__main__":
    print_speech(measure_speech())
