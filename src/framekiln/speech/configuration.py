"""The configured speech engine, model, folders and language. Loads nothing."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, get_args

from framekiln.settings import Settings, SpeechEngine
from framekiln.speech.languages import ENGLISH, WHISPER_LANGUAGES
from framekiln.speech.model_files import models_folders
from framekiln.speech.pinned_models import WHISPERS

EngineKind = Literal["whisper", "moonshine", "pocketsphinx"]

ENGINE_KINDS: Final[tuple[EngineKind, ...]] = get_args(EngineKind)
"""From best to last resort."""

# Only the largest Whisper models support it.
_CANTONESE: Final = "yue"


@dataclass(frozen=True)
class SpeechSettings:
    """The engine, model, folders and threads (0: chosen automatically)."""

    folders: tuple[Path, ...]
    model: str = "base"
    language: str | None = None
    threads: int = 0
    engine: SpeechEngine = "auto"

    @classmethod
    def of(cls, settings: Settings) -> "SpeechSettings":
        """Return the speech settings of the service."""
        return cls(
            folders=models_folders(settings.speech_models, settings.data),
            model=settings.speech_model,
            language=settings.speech_language,
            threads=settings.speech_threads,
            engine=settings.speech_engine,
        )

    @property
    def kinds(self) -> tuple[EngineKind, ...]:
        """The engines that may be used, best first."""
        return ENGINE_KINDS if self.engine == "auto" else (self.engine,)

    @property
    def languages(self) -> frozenset[str]:
        """The languages of the best engine, also on a machine without its model."""
        if self.kinds[0] != "whisper":
            return ENGLISH
        if self.model in WHISPERS:
            return WHISPER_LANGUAGES
        return _languages_of(Path(self.model).expanduser())

    def name_of(self, kind: EngineKind) -> str:
        """Return the engine name in transcripts, such as `whisper-base`."""
        if kind == "moonshine":
            return "moonshine-tiny"
        return f"whisper-{Path(self.model).name}" if kind == "whisper" else kind


def _languages_of(folder: Path) -> frozenset[str]:
    """Return the languages of a custom model; if its folder is missing, the worker decides."""
    try:
        settings = json.loads((folder / "generation_config.json").read_text("utf-8"))
        return frozenset(name.strip("<|>") for name in settings["lang_to_id"])
    except (OSError, ValueError, KeyError, TypeError):
        return WHISPER_LANGUAGES | {_CANTONESE}
