"""Which engine listens: the one that is set, or the best that is there; never silently a lesser.

Looks and checks only; loading is `open_listener`'s. Says why for each engine that was passed over.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from framekiln.kit.errors import FramekilnError
from framekiln.speech import sphinx
from framekiln.speech.configuration import EngineKind, SpeechSettings
from framekiln.speech.errors import NoSuchSpeechModel, SpeechModelDamaged, SpeechModelMissing
from framekiln.speech.models import find_moonshine, find_voice, find_whisper


@dataclass(frozen=True)
class PassedOver:
    """Something that is not used, and why; `error` may name paths, so it is not for callers."""

    name: str
    error: FramekilnError

    @property
    def reason(self) -> str:
        """Why, in words for anybody."""
        state = "damaged" if isinstance(self.error, SpeechModelDamaged) else "not installed"
        return f"{self.name} is {state} ({self.error.code})"


@dataclass(frozen=True)
class Choice:
    """An engine whose files are good; `folder` is None when it needs none."""

    kind: EngineKind
    name: str
    folder: Path | None


def locate(kind: EngineKind, settings: SpeechSettings) -> Choice:
    """Return an engine's checked files; raise when they are missing or damaged."""
    name = settings.name_of(kind)
    if kind == "whisper":
        return Choice(kind, name, find_whisper(settings.model, settings.folders))
    if kind == "moonshine":
        return Choice(kind, name, find_moonshine(settings.folders))
    sphinx.require_installed()
    return Choice(kind, name, None)


def candidates(settings: SpeechSettings) -> Iterator[Choice | PassedOver]:
    """Yield the engines that may be used, best first: those that are there, and why others not.

    A setting that names no model at all is a mistake: that is raised.
    """
    for kind in settings.kinds:
        try:
            yield locate(kind, settings)
        except NoSuchSpeechModel:
            raise
        except (SpeechModelMissing, SpeechModelDamaged) as error:
            yield PassedOver(settings.name_of(kind), error)


def locate_voice(settings: SpeechSettings) -> Path | PassedOver:
    """Return the file of the voice detector, or why it cannot be used."""
    try:
        return find_voice(settings.folders)
    except (SpeechModelMissing, SpeechModelDamaged) as error:
        return PassedOver("the voice detector", error)


def none_left(passed: list[PassedOver]) -> FramekilnError:
    """Return the error that no engine can be used, or the one of the only one that was wanted."""
    if len(passed) == 1:
        return passed[0].error
    reasons = "; ".join(f"{each.name}: {each.error.message}" for each in passed)
    return SpeechModelMissing(f"no speech engine can be used. {reasons}")
