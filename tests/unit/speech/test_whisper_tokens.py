"""Token numbers to text and words."""

import json
from pathlib import Path

import pytest

from framekiln.speech.errors import SpeechModelDamaged
from framekiln.speech.token_words import group_words
from framekiln.speech.whisper_tokens import WhisperTokens, read_tokens

END = 300


def vocabulary(*texts: str) -> dict[str, int]:
    """Number whole pieces from 0 on, written in the letters that stand for bytes."""
    printing = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = [byte for byte in range(256) if byte not in printing]

    def letter(byte: int) -> str:
        return chr(byte) if byte in printing else chr(0x100 + others.index(byte))

    pieces = [text if isinstance(text, bytes) else text.encode() for text in texts]
    return {"".join(map(letter, piece)): number for number, piece in enumerate(pieces)}


def make_tokens(folder: Path, *texts: str) -> WhisperTokens:
    settings = {
        "eos_token_id": END,
        "decoder_start_token_id": END + 1,
        "lang_to_id": {"<|en|>": END + 2, "<|ja|>": END + 3},
        "task_to_id": {"transcribe": END + 4, "translate": END + 5},
        "no_timestamps_token_id": END + 9,
        "suppress_tokens": [1],
        "begin_suppress_tokens": [2, END],
    }
    (folder / "vocab.json").write_text(json.dumps(vocabulary(*texts)))
    (folder / "generation_config.json").write_text(json.dumps(settings))
    return read_tokens(folder)


def words(tokens: WhisperTokens, count: int, language: str = "en") -> list[tuple[str, int, int]]:
    found = group_words(tokens, list(range(count)), language)
    return [(word.text, word.first, word.end) for word in found]


def test_characters_split_over_tokens_are_joined(tmp_path: Path) -> None:
    sun = "日".encode()
    tokens = make_tokens(tmp_path, " caf", "é", sun[:1], sun[1:])  # type: ignore[arg-type]
    assert tokens.decode([0, 1]) == " café"
    assert tokens.decode([2, 3]) == "日"
    assert tokens.decode([2]) == "\ufffd"
    assert words(tokens, 4, "ja") == [("café", 0, 2), ("日", 2, 4)]


def test_timestamps_and_special_tokens_are_not_text(tmp_path: Path) -> None:
    tokens = make_tokens(tmp_path, " one")
    assert tokens.first_timestamp == END + 10
    assert tokens.decode([END + 1, 0, END + 10, END]) == " one"
    assert tokens.prompt("en") == [END + 1, END + 2, END + 4]


def test_words_begin_with_a_space_and_keep_their_punctuation(tmp_path: Path) -> None:
    tokens = make_tokens(
        tmp_path,
        " I",
        " don",
        "'t",
        ",",
        " know",
        " -",
        " (",
        "maybe",
        ")",
        " ten",
        ":",
        "000",
        ".",
    )
    assert words(tokens, 13) == [
        ("I", 0, 1),
        ("don't,", 1, 4),
        ("know -", 4, 6),
        ("(maybe)", 6, 9),
        ("ten:000.", 9, 13),
    ]


def test_languages_without_spaces_have_a_word_for_each_token(tmp_path: Path) -> None:
    tokens = make_tokens(tmp_path, "「", "今日", "」", "は", "iP", "hone", " 1", "5", "。", "A")
    assert words(tokens, 10, "ja") == [
        ("「今日」", 0, 3),
        ("は", 3, 4),
        ("iPhone", 4, 6),
        ("15。", 6, 9),
        ("A", 9, 10),
    ]


def test_music_notes_are_not_words(tmp_path: Path) -> None:
    tokens = make_tokens(tmp_path, " ♪", " ♪")
    assert words(tokens, 2) == []


def test_a_broken_table_is_named(tmp_path: Path) -> None:
    (tmp_path / "vocab.json").write_text("{")
    with pytest.raises(SpeechModelDamaged, match=r"vocab\.json"):
        read_tokens(tmp_path)
