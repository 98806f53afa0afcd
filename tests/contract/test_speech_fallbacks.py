"""Engines beside the default: how well they hear real people, when they are used, what is said."""

import json
import os
import shutil
import statistics
import subprocess
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from framekiln.cli.doctor_checks import CheckState, check_speech, check_voice
from framekiln.media.audio.speech_samples import write_samples
from framekiln.settings import Settings
from framekiln.speech import sphinx
from framekiln.speech.configuration import SpeechSettings
from framekiln.speech.errors import (
    SpeechEngineFailed,
    SpeechLanguageUnavailable,
    SpeechModelDamaged,
    SpeechModelMissing,
    UnknownLanguage,
)
from framekiln.speech.loader import load_engine
from framekiln.speech.model_files import find_voice, installed_models_folder
from framekiln.speech.transcriber import Transcriber
from framekiln.speech.voice_activity import FRAME_MS, LoudnessDetector, SileroDetector, speech_spans
from framekiln.speech.windows import pack_windows
from tests.contract.conftest import TEMPLATE
from tests.contract.test_speech import check_times
from tests.support.app import AppHarness, open_app
from tests.support.postgres import PostgresServer
from tests.support.speech_clips import FOLDER, normal_words, read_clip, score
from tests.support.transcriptions import (
    TRANSCRIPTIONS,
    ready_file,
    running_transcription_worker,
    transcribe,
)

LENA = Path(__file__).parents[1] / "e2e/libraries/node_modules/audio-lena/lena.mp3"

needs_sphinx = pytest.mark.skipif(
    not sphinx.is_installed(), reason="pocketsphinx has no wheel for this Python"
)


@pytest.fixture(scope="module")
def default_settings() -> SpeechSettings:
    return SpeechSettings.of(Settings())


@pytest.fixture(scope="module")
def moonshine(default_settings: SpeechSettings) -> Transcriber:
    return Transcriber.open(replace(default_settings, engine="moonshine"))


def folder_with(path: Path, *names: str) -> SpeechSettings:
    """Settings of a machine that has only these models."""
    path.mkdir(parents=True)
    for name in names:
        (path / name).symlink_to(installed_models_folder() / name)
    return SpeechSettings((path,))


def linked_base(path: Path) -> Path:
    """Make a folder with the files of the base model, which are not to be written."""
    shutil.copytree(installed_models_folder() / "base", path, copy_function=os.symlink)
    return path


@needs_sphinx
def test_moonshine_understands_ordinary_speech_and_its_words_are_found(
    moonshine: Transcriber,
) -> None:
    clip = read_clip("acoustic_corpus")
    transcript = moonshine.transcribe(clip.samples)
    found = score(clip, transcript)
    assert (transcript.engine, transcript.language) == ("moonshine-tiny", "en")
    assert transcript.warnings == ()
    assert found.errors / found.word_count <= 0.2
    assert len(found.late_ms) >= 40
    assert statistics.median(map(abs, found.late_ms)) <= 100
    check_times(transcript, clip.duration_ms)
    assert len(transcript.segments) > 1


def test_without_an_aligner_words_are_spread_over_the_voice(
    default_settings: SpeechSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pocketsphinx", None)
    clip = read_clip("austen_0870")
    transcript = Transcriber.open(replace(default_settings, engine="moonshine")).transcribe(
        clip.samples
    )
    found = score(clip, transcript)
    assert found.errors / found.word_count <= 0.2
    assert statistics.median(map(abs, found.late_ms)) <= 600
    check_times(transcript, clip.duration_ms)


@needs_sphinx
def test_a_crashed_aligner_loses_the_times_but_not_the_words(
    moonshine: Transcriber, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    clip = read_clip("austen_0880")
    with pytest.raises(SpeechEngineFailed, match="exit status 1"):
        sphinx.recognize(clip.samples)
    transcript = moonshine.transcribe(clip.samples)
    assert "young" in normal_words(transcript.text)
    check_times(transcript, clip.duration_ms)


@needs_sphinx
def test_pocketsphinx_recognizes_some_words(tmp_path: Path) -> None:
    settings = folder_with(tmp_path / "empty")
    speech = Transcriber.open(settings)
    assert speech.engine == "pocketsphinx"
    first, second = speech.warnings
    assert first.startswith("made by pocketsphinx, which takes all speech for English")
    assert "whisper-base is not installed (speech_model_missing)" in first
    assert "moonshine-tiny is not installed (speech_model_missing)" in first
    assert "loudness" in second
    assert str(tmp_path) not in first + second
    clip = read_clip("austen_0870")
    transcript = speech.transcribe(clip.samples)
    found = score(clip, transcript)
    assert found.errors / found.word_count <= 0.75
    assert statistics.median(map(abs, found.late_ms)) <= 100
    assert transcript.warnings == speech.warnings
    check_times(transcript, clip.duration_ms)
    noise = np.random.default_rng(5).normal(0, 0.1, 4 * 16_000).astype(np.float32)
    assert speech.transcribe(noise).words == ()


@needs_sphinx
def test_pocketsphinx_is_deterministic(default_settings: SpeechSettings) -> None:
    speech = Transcriber.open(replace(default_settings, engine="pocketsphinx"))
    assert speech.warnings == ()
    samples = read_clip("austen_0880").samples[:16_000]
    assert speech.transcribe(samples) == speech.transcribe(samples)


def test_a_foreign_song_gives_valid_word_times(moonshine: Transcriber, tmp_path: Path) -> None:
    if not LENA.exists():
        pytest.skip("the npm packages of the e2e tests are not installed: make test installs them")
    write_samples(LENA, 0, tmp_path / "samples")
    samples = np.fromfile(tmp_path / "samples", "<i2").astype(np.float32) / np.float32(32_768)
    check_times(moonshine.transcribe(samples), len(samples) // 16)


@pytest.mark.parametrize("kind", ["nothing", "silence", "noise"])
def test_audio_without_speech_gives_no_words(moonshine: Transcriber, kind: str) -> None:
    sounds = {
        "nothing": np.zeros(0),
        "silence": np.zeros(4 * 16_000),
        "noise": np.random.default_rng(5).normal(0, 0.1, 4 * 16_000),
    }
    assert moonshine.transcribe(sounds[kind].astype(np.float32)).words == ()
    assert moonshine.detect_language(sounds[kind].astype(np.float32)) is None


def test_a_missing_model_is_replaced_with_a_warning(tmp_path: Path) -> None:
    settings = folder_with(tmp_path / "some", "moonshine", "voice")
    opened = load_engine(settings)
    assert (opened.engine.name, opened.is_fallback) == ("moonshine-tiny", True)
    assert len(opened.warnings) == 1
    finding = check_speech(settings)
    assert finding.state is CheckState.WARN
    assert finding.detail.startswith("moonshine-tiny, English only")
    assert finding.fix == f"python scripts/fetch_speech_models.py --into {tmp_path / 'some'}"
    assert check_voice(settings).state is CheckState.OK


def test_a_damaged_model_is_replaced_with_a_warning(tmp_path: Path) -> None:
    settings = folder_with(tmp_path / "some", "moonshine", "voice")
    decoder = linked_base(tmp_path / "some" / "base") / "onnx/decoder_model_merged_quantized.onnx"
    data = bytearray(decoder.read_bytes())
    data[1000:1007] = b"damaged"
    decoder.unlink()
    decoder.write_bytes(data)
    opened = load_engine(settings)
    assert opened.engine.name == "moonshine-tiny"
    assert "whisper-base is damaged (speech_model_damaged)" in opened.warnings[0]
    assert "damaged" in check_speech(settings).detail
    with pytest.raises(SpeechModelDamaged, match=r"decoder_model_merged_quantized\.onnx"):
        load_engine(replace(settings, engine="whisper"))


def test_a_custom_model_that_cannot_be_loaded_is_replaced(tmp_path: Path) -> None:
    settings = folder_with(tmp_path / "some", "moonshine", "voice")
    own = linked_base(tmp_path / "own")
    (own / "onnx/encoder_model_quantized.onnx").unlink()
    (own / "onnx/encoder_model_quantized.onnx").write_bytes(b"no network")
    opened = load_engine(replace(settings, model=str(own)))
    assert opened.engine.name == "moonshine-tiny"
    assert "whisper-own is damaged" in opened.warnings[0]
    (own / "onnx/encoder_model_quantized.onnx").unlink()
    assert (
        "whisper-own is not installed" in load_engine(replace(settings, model=str(own))).warnings[0]
    )


def test_a_configured_engine_is_never_replaced(tmp_path: Path) -> None:
    empty = folder_with(tmp_path / "empty")
    for engine in ("whisper", "moonshine"):
        with pytest.raises(SpeechModelMissing, match=r"fetch_speech_models\.py"):
            load_engine(replace(empty, engine=engine))
    with pytest.raises(SpeechModelMissing, match="'medium' is neither"):
        load_engine(replace(empty, model="medium"))
    assert "'medium' is neither" in check_speech(replace(empty, model="medium")).detail


def test_without_any_engine_every_reason_is_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pocketsphinx", None)
    settings = folder_with(tmp_path / "empty", "voice")
    with pytest.raises(SpeechModelMissing, match="no speech engine can be used") as caught:
        load_engine(settings)
    for word in ("whisper-base", "moonshine-tiny", "pip install pocketsphinx"):
        assert word in caught.value.message
    finding = check_speech(settings)
    assert (finding.state, finding.detail[:5]) == (CheckState.WARN, "none,")


@pytest.mark.parametrize("name", ["acoustic_corpus", "cold_corpus", "cold_corpus3"])
def test_noisy_speech_is_recognized_without_the_voice_detector(
    default_settings: SpeechSettings, name: str
) -> None:
    samples = read_clip(name).samples
    voice = SileroDetector(find_voice(default_settings.folders)).detect(samples) > 0.5
    is_heard = np.zeros(len(voice), bool)
    for window in pack_windows(speech_spans(LoudnessDetector().detect(samples)), samples):
        for piece in window.pieces:
            is_heard[piece.start_ms // FRAME_MS : -(-piece.end_ms // FRAME_MS)] = True
    assert is_heard[voice].mean() >= 0.98


def test_whisper_is_the_default_without_warnings(default_settings: SpeechSettings) -> None:
    assert check_speech(default_settings).detail == "whisper-base"
    assert check_voice(default_settings).state is CheckState.OK
    unknown = check_speech(replace(default_settings, language="xx"))
    assert (unknown.state, "'xx'" in unknown.detail) == (CheckState.WARN, True)


def test_a_language_the_fallback_does_not_know_is_refused(
    tmp_path: Path, moonshine: Transcriber
) -> None:
    settings = folder_with(tmp_path / "some", "moonshine", "voice")
    speech = Transcriber.open(settings)
    silence = np.zeros(16_000, np.float32)
    with pytest.raises(SpeechLanguageUnavailable, match=r"whisper-base.*fetch_speech_models"):
        speech.transcribe(silence, "de")
    with pytest.raises(SpeechLanguageUnavailable):
        Transcriber.open(replace(settings, language="de"))
    with pytest.raises(UnknownLanguage):
        speech.transcribe(silence, "tlh")
    with pytest.raises(UnknownLanguage, match="knows 'en' only"):
        moonshine.transcribe(silence, "de")
    assert speech.transcribe(silence, "en-US").language == "en"


def test_the_aligner_finds_words_that_are_not_in_the_dictionary() -> None:
    pytest.importorskip("pocketsphinx", reason="no pocketsphinx for this version of Python")
    clip = read_clip("austen_0870")
    texts = clip.text.split()
    # A name nobody has, in the place of another.
    texts[texts.index("john")] = "Jonn,"
    found = sphinx.align(clip.samples, texts)
    assert [word.text for word in found] == texts
    starts_ms = [word.start_ms for word in clip.words]
    late_ms = [abs(word.start_ms - ms) for word, ms in zip(found, starts_ms, strict=True)]
    assert statistics.median(late_ms) <= 60
    assert sphinx.align(np.zeros(1600, np.float32), ["anything", "at", "all"]) == []


def test_the_script_downloads_only_missing_models(tmp_path: Path) -> None:
    folder_with(tmp_path / "all", "base", "moonshine", "voice")
    script = Path(__file__).parents[2] / "scripts" / "fetch_speech_models.py"
    command = [sys.executable, str(script), "--into", str(tmp_path / "all")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")


def test_the_script_fails_with_a_message_without_the_registry(tmp_path: Path) -> None:
    folder_with(tmp_path / "some", "moonshine")
    script = Path(__file__).parents[2] / "scripts" / "fetch_speech_models.py"
    command = [sys.executable, str(script), "--into", str(tmp_path / "some")]
    environment = {"npm_config_registry": "http://127.0.0.1:9", "npm_config_fetch_retries": "0"}
    environment |= {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    default = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert default.returncode == 0
    assert "error: speech model base: npm cannot get" in default.stderr
    named = [*command, "base"]
    asked = subprocess.run(named, capture_output=True, text=True, env=environment, check=False)
    assert asked.returncode == 1


@pytest.fixture(scope="module")
async def app(
    postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[AppHarness]:
    """A service that has only the smaller model."""
    folder = tmp_path_factory.mktemp("kiln")
    (models,) = folder_with(folder / "models", "moonshine", "voice").folders
    async with (
        open_app(postgres, folder / "data", template=TEMPLATE, speech_models=models) as app,
        running_transcription_worker(app.services),
    ):
        yield app


@pytest.fixture(scope="module")
async def transcription_of(app: AppHarness) -> dict[str, Any]:
    file = await ready_file(app, (FOLDER / "austen_0930.flac").read_bytes())
    return await transcribe(app, file["id"])


async def test_a_transcription_names_its_engine(
    app: AppHarness, transcription_of: dict[str, Any]
) -> None:
    assert (
        transcription_of["status"],
        transcription_of["language"],
        transcription_of["engine"],
    ) == (
        "complete",
        "en",
        "moonshine-tiny",
    )
    (warning,) = transcription_of["warnings"]
    assert "whisper-base is not installed" in warning
    captions = (await app.client.get(f"{TRANSCRIPTIONS}/{transcription_of['id']}.json")).json()
    assert captions["engine"] == "moonshine-tiny"
    words = normal_words(" ".join(each["text"] for each in captions["word_segments"]))
    assert {"might", "made", "himself"} <= set(words)


async def test_a_language_of_a_missing_model_fails_with_a_remedy(
    app: AppHarness, transcription_of: dict[str, Any]
) -> None:
    failed = await transcribe(app, transcription_of["file_id"], language="de")
    assert failed["error"]["code"] == "speech_language_unavailable"
    assert "fetch_speech_models.py" in failed["error"]["message"]
    assert failed["engine"] is None
    refused = await app.client.post(
        TRANSCRIPTIONS,
        content=json.dumps({"file_id": transcription_of["file_id"], "language": "tlh"}),
    )
    assert (refused.status_code, refused.json()["error"]) == (400, "unknown_language")
