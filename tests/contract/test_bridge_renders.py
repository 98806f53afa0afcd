"""Uploaded bundles with a runtime of their own: slices and sound by a real worker."""

import io
import tarfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.contract.conftest import TEMPLATE
from tests.support.app import AppHarness, open_app
from tests.support.external_runtime import write_bundle
from tests.support.frame_codes import read_frame_code
from tests.support.jobs import is_empty, wait_until
from tests.support.looks import decode_frames
from tests.support.postgres import PostgresServer
from tests.support.sounds import decode_audio, find_beeps

RENDERS = "/api/v1/renders"


@pytest.fixture
async def app(postgres: PostgresServer, tmp_path: Path) -> AsyncIterator[AppHarness]:
    async with open_app(postgres, tmp_path / "data", template=TEMPLATE, workers=1) as app:
        yield app


def packed(folder: Path, **own: Any) -> bytes:
    site = write_bundle(folder, **own)
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as tar:
        tar.add(site.folder, ".")
    return file.getvalue()


async def render(app: AppHarness, bundle: bytes, **asked: Any) -> dict[str, Any]:
    created = await app.client.post(RENDERS, json=asked)
    address = f"{RENDERS}/{created.json()['id']}"
    uploaded = await app.client.post(f"{address}/upload", content=bundle)
    assert uploaded.is_success, uploaded.text
    await app.get_in_parts(f"{address}/progress")
    ended: dict[str, Any] = (await app.client.get(address)).json()
    return ended


@pytest.mark.parametrize("driven_by", ["bridge", "calls"])
async def test_a_bundle_with_a_runtime_is_rendered_in_slices_with_sound(
    app: AppHarness, tmp_path: Path, driven_by: str
) -> None:
    bundle = packed(tmp_path / "bundle", drivenBy=driven_by)
    asked = {"width": 320, "height": 180, "fps": 10, "duration_ms": 2500, "work_slice_ms": 1000}
    ended = await render(app, bundle, **asked)
    assert ended["status"] == "complete", ended
    answer = await app.client.get(f"{RENDERS}/{ended['id']}.mp4")
    path = tmp_path / "film.mp4"
    path.write_bytes(answer.content)
    assert [read_frame_code(frame.rgb) for frame in decode_frames(path)] == list(range(25))
    sound = decode_audio(path)
    assert find_beeps(sound.mono, sound.rate_hz) == pytest.approx([0, 1, 2], abs=0.005)
    await wait_until(is_empty(app.services.jobs))  # they delete slices after they tell of the film
    # The bundle and the film; no slice, no sound.
    assert (await app.count_stored())[1] == 2


async def test_an_error_reported_by_the_runtime_fails_the_render(
    app: AppHarness, tmp_path: Path
) -> None:
    bundle = packed(tmp_path / "bundle", failsAt=3)
    asked = {"width": 320, "height": 180, "fps": 10, "duration_ms": 500}
    ended = await render(app, bundle, **asked)
    assert ended["status"] == "failed"
    assert ended["error"]["code"] == "page_threw"
    assert ended["error"]["message"] == "the page's own runtime reported: the clip ended early"
