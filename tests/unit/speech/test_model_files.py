"""Where models are looked for, and that no other file is taken for a pinned one."""

import hashlib
import re
from pathlib import Path

import pytest

from framekiln.settings import Settings
from framekiln.speech.configuration import SpeechSettings
from framekiln.speech.errors import SpeechModelDamaged, SpeechModelMissing
from framekiln.speech.model_files import (
    check_model_files,
    find_voice,
    find_whisper,
    installed_models_folder,
)
from framekiln.speech.pinned_models import MODELS, PinnedFile, PinnedModel


def pinned(data: bytes) -> PinnedModel:
    file = PinnedFile("deep/net.onnx", "net.onnx", hashlib.sha256(data).hexdigest())
    return PinnedModel("tiny", "some-package", "1.0.0", "sha512-", (file,))


def test_a_missing_model_is_named_with_the_command_that_fetches_it(tmp_path: Path) -> None:
    with pytest.raises(SpeechModelMissing, match=r"fetch_speech_models\.py base") as caught:
        find_whisper("base", [tmp_path / "one", tmp_path / "two"])
    assert str(tmp_path / "two") in caught.value.message
    assert caught.value.code == "speech_model_missing"
    with pytest.raises(SpeechModelMissing, match="voice"):
        find_voice([tmp_path])


@pytest.mark.parametrize("name", ["enormous", "relative/folder", "/no/such/folder"])
def test_a_model_that_is_neither_known_nor_a_folder_is_refused(name: str) -> None:
    with pytest.raises(SpeechModelMissing, match=re.escape(repr(name))):
        find_whisper(name, [])


def test_a_custom_model_folder_is_used(tmp_path: Path) -> None:
    assert find_whisper(str(tmp_path), []) == tmp_path


def test_a_file_with_another_digest_is_refused(tmp_path: Path) -> None:
    model = pinned(b"the network")
    (tmp_path / "deep").mkdir()
    path = tmp_path / "deep" / "net.onnx"
    with pytest.raises(SpeechModelDamaged, match="missing"):
        check_model_files(model, tmp_path)
    path.write_bytes(b"the networK")
    with pytest.raises(SpeechModelDamaged, match="not the pinned file"):
        check_model_files(model, tmp_path)
    path.write_bytes(b"the network")
    check_model_files(model, tmp_path)


def test_every_file_of_every_model_is_pinned() -> None:
    for model in MODELS.values():
        assert re.fullmatch(r"sha512-[A-Za-z0-9+/]{86}==", model.integrity)
        for file in model.files:
            assert re.fullmatch(r"[0-9a-f]{64}", file.sha256)
            assert not Path(file.name).is_absolute()


def test_the_settings_choose_the_model_folder(tmp_path: Path) -> None:
    usual = SpeechSettings.of(Settings(data=tmp_path))
    assert usual.folders == (tmp_path / "models", installed_models_folder())
    chosen = SpeechSettings.of(Settings(data=tmp_path, speech_models=tmp_path / "mine"))
    assert chosen.folders == (tmp_path / "mine",)
    assert (usual.model, usual.language) == ("base", None)
