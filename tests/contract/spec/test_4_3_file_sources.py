"""4.3: elements of a composition show and play uploaded files, by `file-id`."""

import asyncio
from io import BytesIO
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import pytest
from PIL import Image

from tests.support.app import AppHarness
from tests.support.clips import make_clip, make_still
from tests.support.frame_codes import read_frame_code
from tests.support.looks import iter_frames
from tests.support.sounds import av_offset_ms, beep_times
from tests.support.transcriptions import ready_file, running_transcription_worker, transcribe
from tests.support.uploads import upload_file, wait_processed

pytestmark = pytest.mark.spec("4.3")

SPEECH = Path(__file__).parents[2] / "support" / "speech" / "austen_0870.flac"


@pytest.fixture(scope="module")
def app_options() -> dict[str, Any]:
    return {"workers": 1}


def scene(content: str) -> str:
    style = "width:320px;height:240px;background:#fff"
    return f'<ef-timegroup mode="contain" style="{style}">{content}</ef-timegroup>'


async def film(app: AppHarness, html: str, path: Path) -> Path:
    made = await app.output(await app.render(html))
    await asyncio.to_thread(path.write_bytes, made)
    return path


async def test_an_uploaded_video_is_shown_and_heard_exactly(
    app: AppHarness, tmp_path: Path
) -> None:
    clip = make_clip(tmp_path / "clip.mp4").read_bytes()
    file = await wait_processed(app, (await upload_file(app, clip, filename="clip.mp4"))["id"])
    html = scene(f'<ef-video file-id="{file["id"]}" style="width:320px;height:240px"></ef-video>')
    made = await film(app, html, tmp_path / "film.mp4")
    assert [read_frame_code(frame.rgb) for frame in iter_frames(made)] == list(range(60))
    assert len(beep_times(made)) == 2
    assert abs(av_offset_ms(made)) < 17


async def test_an_uploaded_picture_is_shown(app: AppHarness, tmp_path: Path) -> None:
    picture = make_still(tmp_path / "picture.png", 42).read_bytes()
    file = await upload_file(app, picture, filename="picture.png", type="image")
    html = scene(f'<ef-image file-id="{file["id"]}" duration="200ms"></ef-image>')
    made = await film(app, html, tmp_path / "film.mp4")
    assert {read_frame_code(frame.rgb) for frame in iter_frames(made)} == {42}


async def test_uploaded_captions_are_read(app: AppHarness, tmp_path: Path) -> None:
    text = b"WEBVTT\n\n00:00.000 --> 00:01.000\nhello\n"
    file = await upload_file(app, text, filename="said.vtt", type="caption")
    html = scene(
        f'<ef-captions file-id="{file["id"]}" style="font:200px sans-serif">'
        "<ef-captions-segment></ef-captions-segment></ef-captions>"
    )
    made = await film(app, html, tmp_path / "film.mp4")
    assert next(iter_frames(made)).rgb.min() < 60


async def test_captions_show_the_transcript_of_a_file(app: AppHarness) -> None:
    async with running_transcription_worker(app.services):
        file = await ready_file(app, SPEECH.read_bytes())
        captions = scene(
            f'<ef-audio id="talk" file-id="{file["id"]}"></ef-audio>'
            '<ef-captions id="c" target="talk" style="font:60px sans-serif">'
            "<ef-captions-segment></ef-captions-segment></ef-captions>"
        )
        still = {"output": {"container": "png"}, "duration_ms": 1500}
        early = await app.render(captions, **still)
        assert early["error"]["code"] == "asset_missing"
        assert "ef-captions#c" in early["error"]["message"]
        await transcribe(app, file["id"], language="en")
        said = await app.output(await app.render(captions, **still))
    picture = np.asarray(Image.open(BytesIO(said)).convert("L"))
    assert picture.min() < 60


@pytest.mark.parametrize("element", ["ef-video", "ef-image", "ef-audio"])
async def test_a_missing_file_is_named_in_the_error(app: AppHarness, element: str) -> None:
    missing = uuid4()
    info = await app.render(scene(f'<{element} id="e" file-id="{missing}"></{element}>'))
    assert info["error"]["code"] == "asset_missing"
    assert f"{element}#e" in info["error"]["message"]
    assert str(missing) in info["error"]["message"]


async def test_files_of_other_organizations_are_not_found(app: AppHarness, tmp_path: Path) -> None:
    picture = make_still(tmp_path / "picture.png", 1).read_bytes()
    theirs = await upload_file(
        await app.other_organization(), picture, filename="a.png", type="image"
    )
    info = await app.render(scene(f'<ef-image id="e" file-id="{theirs["id"]}"></ef-image>'))
    assert info["status"] == "failed"
    assert "ef-image#e" in info["error"]["message"]
