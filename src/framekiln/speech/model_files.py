"""Finds the speech models on this machine, and verifies that they are the pinned ones.

Never downloads anything: `scripts/fetch_speech_models.py` does that once, during setup.
"""

import hashlib
import sys
from collections.abc import Sequence
from pathlib import Path

from framekiln.speech.errors import NoSuchSpeechModel, SpeechModelDamaged, SpeechModelMissing
from framekiln.speech.pinned_models import MOONSHINE, SILERO, WHISPERS, PinnedModel


def installed_models_folder() -> Path:
    """Return the models folder of the installation, which setup fills."""
    return Path(sys.prefix) / "share" / "framekiln" / "models"


def models_folders(chosen: Path | None, data: Path) -> tuple[Path, ...]:
    """Return the folders to search, in order: the configured folder, or the two defaults."""
    return (
        (chosen.expanduser(),)
        if chosen is not None
        else (data / "models", installed_models_folder())
    )


def find_whisper(name: str, folders: Sequence[Path]) -> Path:
    """Return the verified folder of a pinned model, or a custom model's folder, given as a path."""
    if name in WHISPERS:
        return _find(WHISPERS[name], folders)
    own = Path(name).expanduser()
    if own.is_absolute() and own.is_dir():
        return own
    raise NoSuchSpeechModel(
        f"speech model {name!r} is neither one of {', '.join(sorted(WHISPERS))} nor the absolute"
        " path of a folder with a model"
    )


def find_moonshine(folders: Sequence[Path]) -> Path:
    """Return the verified folder of the smaller, English-only model."""
    return _find(MOONSHINE, folders)


def find_voice(folders: Sequence[Path]) -> Path:
    """Return the verified file of the voice detector."""
    return _find(SILERO, folders) / SILERO.files[0].name


def _find(model: PinnedModel, folders: Sequence[Path]) -> Path:
    for folder in folders:
        if (folder / model.name).is_dir():
            check_model_files(model, folder / model.name)
            return folder / model.name
    looked = " and ".join(str(folder) for folder in folders)
    raise SpeechModelMissing(
        f"the speech model {model.name!r} is not in {looked}; fetch it with"
        f" `python scripts/fetch_speech_models.py {model.name}`, or set FRAMEKILN_SPEECH_MODELS"
        " to the folder that has it"
    )


def check_model_files(model: PinnedModel, folder: Path) -> None:
    """Refuse a folder in which a file is missing or differs from the pinned one."""
    for file in model.files:
        path = folder / file.name
        if not path.is_file():
            raise SpeechModelDamaged(f"{path} is missing; remove {folder} and fetch it again")
        if sha256_of(path) != file.sha256:
            raise SpeechModelDamaged(
                f"{path} is not the pinned file; remove {folder} and fetch it again"
            )


def sha256_of(path: Path) -> str:
    """Return the digest of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
