"""The commands in README, in the guides and in the reference, typed as they stand."""

import json
import shutil
import sys
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from framekiln.client import Client
from tests.support.clips import Clip, make_clip
from tests.support.doc_commands import REFUSALS_FAIL, shell_blocks, type_commands
from tests.support.looks import decode_frames
from tests.support.service import POLL_S, Account
from tests.support.timeouts import TIMEOUT_S

ROOT = Path(__file__).parents[2]
PAGES = [
    page
    for page in (
        ROOT / "README.md",
        *sorted((ROOT / "docs/howto").glob("*.md")),
        *sorted((ROOT / "docs/api").glob("*.md")),
    )
    if any(block.reason is None for block in shell_blocks(page))
]
HTML = "<ef-timegroup duration='200ms' class='w-[64px] h-[36px] bg-sky-800'></ef-timegroup>"
CONFIG: dict[str, Any] = {"dimensions": {"width": 64, "height": 36}, "duration": 2, "fps": 5}
GREETING = {"id": "t", "type": "text", "text": {"text": "Hello {{ name }}"}}
OUTPUTS = {
    "README.md": ("out.mp4", "still.png"),
    "bulk-videos.md": ("videos.zip",),
    "command-line.md": ("film.mp4", "frame.png", "ada.mp4", "videos.zip", "speech.vtt"),
    "authentication.md": ("hi.mp4",),
    "files.md": ("copy.mp4",),
    "videos.md": ("hello.mp4", "frame.jpg"),
}
"""What the commands of a page write."""


@pytest.fixture(scope="module")
def variables(account: Account, clip: Path) -> str:
    """Make what the pages say that the reader has: a service, a file, a video, a review task."""
    with Client(account.url, account.api_key) as client:
        file = client.files.upload(clip)
        video = client.videos.create({**CONFIG, "layers": []})
        client.files.wait_ready(file.id)
        client.videos.wait(video.id)
        ask = {"type": "review", "with": {"instructions": "May it be shown?"}}
        pipeline = client.pipelines.create("a review", {"steps": {"ask": ask}})
        run, _ = client.runs.create(pipeline.id, file.id)
        review = _pending(client, run.id)
    return f"kiln={account.url} file={file.id} video={video.id} review={review}\n"


def _pending(client: Client, run_id: str) -> str:
    deadline = time.monotonic() + TIMEOUT_S
    while time.monotonic() < deadline:
        for each in client.reviews.list(status="pending", run_id=run_id):
            return each.id
        time.sleep(POLL_S)
    raise AssertionError("no review was opened")


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    clip = tmp_path_factory.mktemp("clips") / "clip.mp4"
    return make_clip(clip, Clip(duration_s=Fraction(1), width=64, height=48))


@pytest.fixture
def folder(tmp_path: Path, clip: Path) -> Path:
    """Return a folder with the files that the pages say the reader has."""
    (tmp_path / "site").mkdir()
    for page in ("page.html", "hello.html", "site/index.html"):
        (tmp_path / page).write_text(HTML)
    for name in ("clip.mp4", "holiday.mp4"):
        shutil.copy(clip, tmp_path / name)
    (tmp_path / "people.csv").write_text("name\nAda\n")
    documents: dict[str, dict[str, Any]] = {
        "config.json": {**CONFIG, "layers": []},
        "clip-config.json": {**CONFIG, "layers": [{"id": "clip", "type": "video"}]},
        "template.json": {
            "name": "Greeting",
            "config": {**CONFIG, "layers": [GREETING]},
            "inputs": {"name": "required|string"},
        },
        "holiday-films.json": {"steps": {"facts": {"type": "probe"}}},
    }
    for name, document in documents.items():
        (tmp_path / name).write_text(json.dumps(document))
    (tmp_path / ".venv").symlink_to(sys.prefix)
    return tmp_path


@pytest.mark.parametrize("page", PAGES, ids=lambda each: str(each.relative_to(ROOT)))
def test_the_commands_of_a_page_work(
    page: Path, account: Account, variables: str, *, folder: Path
) -> None:
    script = "\n".join(each.text for each in shell_blocks(page) if each.reason is None)
    # The same films, but small; and shorter pauses.
    for large, small in (
        ('"width": 1280, "height": 720', '"width": 64, "height": 36'),
        ('"duration": 4,', '"duration": 0.2,'),
        ("duration_ms: 1000", "duration_ms: 200"),
        ('"duration_ms": 2000', '"duration_ms": 200'),
        ("testsrc2=size=640x360:rate=30", "testsrc2=size=64x36:rate=30"),
        ("testsrc2=size=800x600", "testsrc2=size=80x60"),
        ("-t 4 ", "-t 1 "),
        ("sleep 2;", "sleep 0.2;"),
        ("sleep 1;", "sleep 0.2;"),
    ):
        script = script.replace(large, small)
    type_commands(REFUSALS_FAIL + variables + script, account, folder)
    for name in OUTPUTS.get(page.name, ()):
        made = folder / name
        assert made.stat().st_size > 0
        if made.suffix in (".mp4", ".png", ".jpg"):
            assert decode_frames(made), name
