"""Renders of layer configs, made by real workers: slices, sound, join, failures."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from framekiln.composition.layers import ReadOptions, config_digest, read_config, write_config
from framekiln.renders.output import MP4
from tests.contract.conftest import TEMPLATE
from tests.support.app import AppHarness, open_app
from tests.support.frame_codes import read_frame_code
from tests.support.layer_films import config_of
from tests.support.looks import decode_frames
from tests.support.opened_media import packet_mark, refuse_to_read
from tests.support.postgres import PostgresServer
from tests.support.sounds import av_offset_ms, beep_times
from tests.support.uploads import running_file_worker, upload_file, wait_processed


@pytest.fixture
async def app(postgres: PostgresServer, tmp_path: Path) -> AsyncIterator[AppHarness]:
    async with (
        open_app(postgres, tmp_path / "data", template=TEMPLATE, workers=2) as app,
        running_file_worker(app.services),
    ):
        yield app


@pytest.fixture
def clip(flash_clip: Path) -> bytes:
    return flash_clip.read_bytes()


def saved_video(data: bytes, path: Path) -> Path:
    path.write_bytes(data)
    return path


async def rendered(
    app: AppHarness, config: dict[str, Any], uploads: dict[str, str]
) -> dict[str, Any]:
    caller = await app.services.identity.authenticate(app.key)
    read = read_config(config, ReadOptions(uploads=uploads)).config
    render = await app.services.renders.create_from_layers(
        caller, write_config(read), digest=config_digest(read), output=MP4
    )
    return await app.wait_ended(str(render.id))


async def test_a_config_becomes_a_film_by_slices(
    app: AppHarness, tmp_path: Path, clip: bytes
) -> None:
    file = await upload_file(app, clip, filename="clip.mp4")
    await wait_processed(app, file["id"])
    layers: list[dict[str, Any]] = [
        {"id": "v", "type": "video", "file": "https://replaced.test/", "loop": 3},
        {"id": "t", "type": "text", "text": {"text": "over", "fontSize": 20}},
    ]
    info = await rendered(app, config_of(*layers, duration=6), {"v": f"file-id:{file['id']}"})
    path = saved_video(await app.output(info), tmp_path / "film.mp4")
    codes = [read_frame_code(frame.rgb) for frame in decode_frames(path)]
    assert codes == [n % 60 for n in range(180)]
    assert len(beep_times(path)) == 6
    assert abs(av_offset_ms(path)) < 33


async def test_a_failure_names_the_layer_and_its_place(app: AppHarness) -> None:
    missing = "file-id:8c0f0f4e-2f52-4d7c-9d4e-9d5c6a3b1e11"
    layer = {"id": "gone", "type": "image", "file": "https://replaced.test/"}
    info = await rendered(app, config_of(layer), {"gone": missing})
    assert info["status"] == "failed"
    assert info["error"]["code"] == "asset_missing"
    assert "layers.0.file" in info["error"]["message"]
    assert "gone" in info["error"]["message"]


async def test_a_worker_does_not_open_slices_with_packets_of_their_source(
    app: AppHarness, tmp_path: Path, clip: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    video = {"id": "v", "type": "video", "file": "https://replaced.test/"}
    foreign = await upload_file(app, clip, filename="clip.mp4")
    await wait_processed(app, foreign["id"])
    first = await rendered(app, config_of(video, duration=5), {"v": f"file-id:{foreign['id']}"})
    # A film of our own is encoded as our slices are, so its packets are copied.
    own = saved_video(await app.output(first), tmp_path / "own.mp4")
    source = await upload_file(app, own.read_bytes(), filename="own.mp4")
    await wait_processed(app, source["id"])
    refuse_to_read(monkeypatch, packet_mark(own))
    info = await rendered(app, config_of(video, duration=5), {"v": f"file-id:{source['id']}"})
    monkeypatch.undo()
    assert info["status"] == "complete"
    film = saved_video(await app.output(info), tmp_path / "film.mp4")
    assert packet_mark(own) in film.read_bytes()
    assert len(decode_frames(film)) == len(decode_frames(own))
