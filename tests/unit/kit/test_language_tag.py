"""Players get the tags of languages that media files name in their own ways."""

import pytest

from framekiln.kit.language_tag import language_tag


@pytest.mark.parametrize(
    ("stated", "tag"),
    [
        ("eng", "en"),
        ("ger", "de"),
        ("deu", "de"),
        ("DE", "de"),
        ("pt_BR", "pt-br"),
        ("por-BR", "pt-br"),
        ("yue", "yue"),
        ("zh-Hant-TW", "zh-hant-tw"),
    ],
)
def test_a_stated_language_becomes_its_shortest_tag(stated: str, tag: str) -> None:
    assert language_tag(stated) == tag


@pytest.mark.parametrize("stated", ["und", "mul", "", "english", 'en"\n#EXT', "en-", 7, None, {}])
def test_what_is_not_a_language_has_no_tag(stated: object) -> None:
    assert language_tag(stated) is None
