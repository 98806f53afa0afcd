"""Renders whose scripts make sound: slices by real workers, and all that is heard in one mix."""

import io
import tarfile
from collections.abc import AsyncIterator
from fractions import Fraction
from pathlib import Path

import pytest

from tests.contract.conftest import TEMPLATE
from tests.support.app import AppHarness, open_app
from tests.support.clips import Clip, make_clip
from tests.support.jobs import is_empty, wait_until
from tests.support.postgres import PostgresServer
from tests.support.sounds import beep_times

RENDERS = "/api/v1/renders"
INDEX = """<body data-duration-ms="2500"><script src="app.js"></script>
<audio src="song.m4a" autoplay></audio>"""
# Nothing is heard, and nothing is made, before 1.25 s.
SCRIPT = """setTimeout(() => {
  const context = new AudioContext(), tone = context.createOscillator();
  tone.frequency.value = 1000;
  tone.connect(context.destination);
  tone.start(0.25);
  tone.stop(0.35);
}, 1250)"""


@pytest.fixture
async def app(postgres: PostgresServer, tmp_path: Path) -> AsyncIterator[AppHarness]:
    async with open_app(postgres, tmp_path / "data", template=TEMPLATE, workers=2) as app:
        yield app


def bundle(folder: Path) -> bytes:
    folder.mkdir()
    (folder / "index.html").write_text(INDEX)
    (folder / "app.js").write_text(SCRIPT)
    make_clip(folder / "song.m4a", Clip(video_codec=None, duration_s=Fraction(3)))
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as tar:
        tar.add(folder, ".")
    return file.getvalue()


async def test_sound_of_scripts_is_mixed_with_that_of_elements(
    app: AppHarness, tmp_path: Path
) -> None:
    asked = {"width": 64, "height": 36, "fps": 10, "work_slice_ms": 1000}
    created = await app.client.post(RENDERS, json=asked)
    address = f"{RENDERS}/{created.json()['id']}"
    uploaded = await app.client.post(f"{address}/upload", content=bundle(tmp_path / "bundle"))
    assert uploaded.is_success, uploaded.text
    await app.get_in_parts(f"{address}/progress")
    ended = (await app.client.get(address)).json()
    assert ended["status"] == "complete", ended
    assert not ended.get("warnings")
    path = tmp_path / "film.mp4"
    path.write_bytes((await app.client.get(f"{address}.mp4")).content)
    assert beep_times(path) == pytest.approx([0, 1, 1.5, 2], abs=0.002)
    await wait_until(is_empty(app.services.jobs))  # they delete slices after they tell of the film
    # The bundle and the film; no slice, no sound.
    assert (await app.count_stored())[1] == 2
