"""Engines and the voice detector loaded as set, with their stand-ins where they cannot be."""

import os
from dataclasses import dataclass
from typing import Final

import structlog

from framekiln.speech.choosing import Choice, PassedOver, candidates, locate_voice, none_left
from framekiln.speech.configuration import SpeechSettings
from framekiln.speech.errors import SpeechModelDamaged, SpeechModelMissing
from framekiln.speech.listener import Listener
from framekiln.speech.listening import WhisperListener
from framekiln.speech.loudness import LoudnessGate
from framekiln.speech.moonshine_listener import MoonshineListener
from framekiln.speech.sphinx_listener import SphinxListener
from framekiln.speech.voice import VoiceDetector, VoiceGate

log = structlog.get_logger(__name__)

_USEFUL_THREADS: Final = 4
_QUALITY: Final = {
    "moonshine": "which takes all speech for English and has about twice as many words wrong",
    "pocketsphinx": "which takes all speech for English and has more than half of the words wrong",
}


@dataclass(frozen=True)
class Opened:
    """What listens, and what whoever reads its transcripts must be told."""

    listener: Listener
    gate: VoiceGate
    warnings: tuple[str, ...]
    is_fallback: bool


def open_engine(settings: SpeechSettings) -> Opened:
    """Load the best engine there is; what is used in its stead is logged and told."""
    passed: list[PassedOver] = []
    gate, warnings = _open_gate(settings)
    for found in candidates(settings):
        opened = _load(found, settings) if isinstance(found, Choice) else found
        if isinstance(opened, PassedOver):
            passed.append(opened)
            continue
        assert isinstance(found, Choice)
        for each in passed:
            log.warning("speech engine passed over", engine=each.name, reason=each.error.message)
        log.info("speech engine opened", engine=opened.name, is_fallback=bool(passed))
        if passed:
            reasons = ", ".join(each.reason for each in passed)
            quality = _QUALITY[found.kind]
            warnings = (f"made by {opened.name}, {quality}: {reasons}", *warnings)
        return Opened(opened, gate, warnings, is_fallback=bool(passed))
    raise none_left(passed)


def _load(choice: Choice, settings: SpeechSettings) -> Listener | PassedOver:
    threads = settings.threads or min(_USEFUL_THREADS, os.cpu_count() or 1)
    try:
        if choice.folder is None:
            return SphinxListener(name=choice.name)
        kind = WhisperListener if choice.kind == "whisper" else MoonshineListener
        return kind(choice.folder, name=choice.name, threads=threads)
    except (SpeechModelMissing, SpeechModelDamaged) as error:
        return PassedOver(choice.name, error)


def _open_gate(settings: SpeechSettings) -> tuple[VoiceGate, tuple[str, ...]]:
    found = locate_voice(settings)
    if not isinstance(found, PassedOver):
        return VoiceDetector(found), ()
    log.warning("voice detector passed over", reason=found.error.message)
    warning = f"speech was told from noise by its loudness alone: {found.reason}"
    return LoudnessGate(), (warning,)
