"""The guide "Videos from layers, by example", typed as it stands; it quotes what is in files."""

import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.support.golden import compare
from tests.support.golden_videos import FOLDER, GoldenVideo, RenderedVideo, cells, golden_videos
from tests.support.service import Account

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "howto" / "layer-examples.md"
TYPED = ("lower-third", "subtitled-clip", "personalised-greeting")


@pytest.fixture(scope="module")
def typed(account: Account, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which the commands of the guide were typed."""
    folder = tmp_path_factory.mktemp("examples")
    for name in ("docs", "examples", "tests"):
        (folder / name).symlink_to(ROOT / name)
    blocks = re.findall(r"```sh\n(.*?)```", GUIDE.read_text("utf-8"), re.DOTALL)
    script = "\n".join(["set -euo pipefail", *blocks])
    result = subprocess.run(
        ["bash", "-c", script.replace("http://127.0.0.1:8080", account.url)],
        cwd=folder,
        env={**os.environ, **account.environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    output = result.stdout + result.stderr
    assert result.returncode == 0, output + account.service.log_tail()
    (folder / "said.txt").write_text(result.stdout)
    return folder


@pytest.mark.parametrize("name", TYPED)
def test_the_service_makes_what_the_guide_describes(typed: Path, name: str) -> None:
    video = GoldenVideo(FOLDER / name)
    sheet = cells(RenderedVideo(video, typed / f"{name}.mp4", ()).sheet)
    for number, golden in cells(video.sheet).items():
        likeness = compare(sheet[number], golden)
        assert likeness.ssim > 0.97
        assert likeness.tile_difference < 12


def test_the_example_of_a_plan_and_a_frame_works(typed: Path) -> None:
    plan = [json.loads(line) for line in (typed / "said.txt").read_text().splitlines()]
    assert ["go", 2.7, 4] in plan
    with Image.open(typed / "countdown.jpg") as frame:
        assert frame.size == (360, 360)
        # White letters on a dark ground.
        assert frame.convert("L").histogram()[240:] != [0] * 16


def parts(value: Any) -> Iterator[Any]:
    """Yield a value and all objects in it."""
    if isinstance(value, dict):
        yield value
    for inner in value.values() if isinstance(value, dict) else value:
        if isinstance(inner, dict | list):
            yield from parts(inner)


def test_quotations_in_the_guide_match_their_files() -> None:
    text = GUIDE.read_text("utf-8")
    path: Path | None = None
    quoted = 0
    for found in re.finditer(r"\]\(([^)]+\.json)\)|```json\n(.*?)```", text, re.DOTALL):
        if found[1]:
            path = (GUIDE.parent / found[1]).resolve()
            continue
        assert path is not None
        assert json.loads(found[2]) in parts(json.loads(path.read_text("utf-8")))
        quoted += 1
    assert quoted >= 5


def test_the_guide_names_every_example() -> None:
    named = set(re.findall(r"`([a-z-]+)`", GUIDE.read_text("utf-8")))
    assert {video.name for video in golden_videos()} <= named
