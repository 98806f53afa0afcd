"""Codes of languages, in any spelling, known before a model is loaded."""

import json
from pathlib import Path

import pytest

from framekiln.settings import Settings
from framekiln.speech.configuration import SpeechSettings
from framekiln.speech.errors import UnknownLanguage
from framekiln.speech.languages import ENGLISH, WHISPER_LANGUAGES, check_language
from framekiln.speech.model_files import find_whisper


@pytest.mark.parametrize(
    ("given", "code"),
    [("en", "en"), ("EN", "en"), ("en-GB", "en"), (" en_US ", "en"), ("nb-NO", "no"), ("iw", "he")],
)
def test_language_codes_are_accepted_in_any_spelling(given: str, code: str) -> None:
    assert check_language(given, WHISPER_LANGUAGES) == code


@pytest.mark.parametrize("given", ["klingon", "tlh", "", "xx"])
def test_an_unknown_language_is_refused_by_name(given: str) -> None:
    with pytest.raises(UnknownLanguage, match=repr(given)) as caught:
        check_language(given, WHISPER_LANGUAGES)
    assert caught.value.details == {"field": "language"}


def test_an_engine_with_one_language_names_it() -> None:
    with pytest.raises(UnknownLanguage, match="it knows 'en' only"):
        check_language("de", ENGLISH)


def test_the_list_is_that_of_the_model() -> None:
    settings = SpeechSettings.of(Settings())
    folder = find_whisper("base", settings.folders)
    ids = json.loads((folder / "generation_config.json").read_text())["lang_to_id"]
    assert {name.strip("<|>") for name in ids} == WHISPER_LANGUAGES == settings.languages


def test_languages_follow_from_the_settings_alone(tmp_path: Path) -> None:
    nowhere = (tmp_path / "nothing",)
    assert SpeechSettings(nowhere).languages == WHISPER_LANGUAGES
    assert SpeechSettings(nowhere, engine="whisper").languages == WHISPER_LANGUAGES
    assert SpeechSettings(nowhere, engine="moonshine").languages == ENGLISH
    assert SpeechSettings(nowhere, engine="pocketsphinx").languages == ENGLISH


def test_a_custom_model_lists_its_languages(tmp_path: Path) -> None:
    own = SpeechSettings((), model=str(tmp_path))
    # Not on this machine: the worker has to say.
    assert "yue" in own.languages
    (tmp_path / "generation_config.json").write_text('{"lang_to_id": {"<|en|>": 1, "<|de|>": 2}}')
    assert own.languages == {"en", "de"}
