"""Loads the configured speech engine and voice detector, or their fallbacks."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from framekiln.kit.errors import FramekilnError
from framekiln.kit.lazy_log import LazyLogger
from framekiln.speech import sphinx
from framekiln.speech.configuration import EngineKind, SpeechSettings
from framekiln.speech.engine_protocol import RecognitionEngine
from framekiln.speech.errors import NoSuchSpeechModel, SpeechModelDamaged, SpeechModelMissing
from framekiln.speech.model_files import find_moonshine, find_voice, find_whisper
from framekiln.speech.moonshine_engine import MoonshineEngine
from framekiln.speech.sphinx_engine import SphinxEngine
from framekiln.speech.voice_activity import LoudnessDetector, SileroDetector, VoiceActivityDetector
from framekiln.speech.whisper_engine import WhisperEngine


@dataclass(frozen=True)
class SkippedEngine:
    """A skipped engine or detector; `error` may name paths, so it is not for callers."""

    name: str
    error: FramekilnError

    @property
    def reason(self) -> str:
        """The reason, without internal details."""
        state = "damaged" if isinstance(self.error, SpeechModelDamaged) else "not installed"
        return f"{self.name} is {state} ({self.error.code})"


@dataclass(frozen=True)
class LocatedEngine:
    """An engine with valid files; `folder` is None when it needs none."""

    kind: EngineKind
    name: str
    folder: Path | None


def locate_engine(kind: EngineKind, settings: SpeechSettings) -> LocatedEngine:
    """Return the verified files of an engine; raise if they are missing or damaged."""
    name = settings.name_of(kind)
    if kind == "whisper":
        return LocatedEngine(kind, name, find_whisper(settings.model, settings.folders))
    if kind == "moonshine":
        return LocatedEngine(kind, name, find_moonshine(settings.folders))
    sphinx.require_installed()
    return LocatedEngine(kind, name, None)


def candidate_engines(settings: SpeechSettings) -> Iterator[LocatedEngine | SkippedEngine]:
    """Yield the allowed engines, best first: the available ones, and why others are not.

    A setting that names a model that does not exist is an error and raises.
    """
    for kind in settings.kinds:
        try:
            yield locate_engine(kind, settings)
        except NoSuchSpeechModel:
            raise
        except (SpeechModelMissing, SpeechModelDamaged) as error:
            yield SkippedEngine(settings.name_of(kind), error)


def locate_voice_model(settings: SpeechSettings) -> Path | SkippedEngine:
    """Return the file of the voice detector, or why it cannot be used."""
    try:
        return find_voice(settings.folders)
    except (SpeechModelMissing, SpeechModelDamaged) as error:
        return SkippedEngine("the voice detector", error)


def no_engine_error(passed: list[SkippedEngine]) -> FramekilnError:
    """Return the error for no usable engine, or the specific one if only one engine was allowed."""
    if len(passed) == 1:
        return passed[0].error
    reasons = "; ".join(f"{each.name}: {each.error.message}" for each in passed)
    return SpeechModelMissing(f"no speech engine can be used. {reasons}")


log = LazyLogger(__name__)

_USEFUL_THREADS: Final = 4
_QUALITY: Final = {
    "moonshine": "which takes all speech for English and has about twice as many words wrong",
    "pocketsphinx": "which takes all speech for English and has more than half of the words wrong",
}


@dataclass(frozen=True)
class LoadedEngine:
    """The loaded engine, and the warnings for its transcripts."""

    engine: RecognitionEngine
    voice_detector: VoiceActivityDetector
    warnings: tuple[str, ...]
    is_fallback: bool


def load_engine(settings: SpeechSettings) -> LoadedEngine:
    """Load the best available engine; a fallback is logged and added to the warnings."""
    passed: list[SkippedEngine] = []
    gate, warnings = _open_gate(settings)
    for found in candidate_engines(settings):
        opened = _load(found, settings) if isinstance(found, LocatedEngine) else found
        if isinstance(opened, SkippedEngine):
            passed.append(opened)
            continue
        assert isinstance(found, LocatedEngine)
        for each in passed:
            log.warning("speech.engine_skipped", engine=each.name, reason=each.error.message)
        log.info("speech.engine_loaded", engine=opened.name, is_fallback=bool(passed))
        if passed:
            reasons = ", ".join(each.reason for each in passed)
            quality = _QUALITY[found.kind]
            warnings = (f"made by {opened.name}, {quality}: {reasons}", *warnings)
        return LoadedEngine(opened, gate, warnings, is_fallback=bool(passed))
    raise no_engine_error(passed)


def _load(choice: LocatedEngine, settings: SpeechSettings) -> RecognitionEngine | SkippedEngine:
    threads = settings.threads or min(_USEFUL_THREADS, os.cpu_count() or 1)
    try:
        if choice.folder is None:
            return SphinxEngine(name=choice.name)
        kind = WhisperEngine if choice.kind == "whisper" else MoonshineEngine
        return kind(choice.folder, name=choice.name, threads=threads)
    except (SpeechModelMissing, SpeechModelDamaged) as error:
        return SkippedEngine(choice.name, error)


def _open_gate(settings: SpeechSettings) -> tuple[VoiceActivityDetector, tuple[str, ...]]:
    found = locate_voice_model(settings)
    if not isinstance(found, SkippedEngine):
        return SileroDetector(found), ()
    log.warning("speech.voice_detector_skipped", reason=found.error.message)
    warning = f"speech was detected by its loudness alone: {found.reason}"
    return LoudnessDetector(), (warning,)
