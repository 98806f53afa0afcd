"""The tutorials, typed as they stand: each ends with the films and answers that it promises."""

import json
from dataclasses import dataclass
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import pytest
from PIL import Image

from tests.support.doc_commands import scale_clip, shell_blocks, type_commands
from tests.support.looks import colour_at, decode_frames
from tests.support.ports import ReservedPort
from tests.support.service import Account
from tests.support.sounds import decode_audio, rms

ROOT = Path(__file__).parents[2]
TUTORIALS = ROOT / "docs" / "tutorials"


@dataclass(frozen=True)
class Reader:
    """Somebody with a clone, an account and a shell."""

    account: Account
    folder: Path

    def type_tutorial(self, name: str, *, from_block: int = 0) -> str:
        """Type the commands of a tutorial into one shell; return what it printed."""
        blocks = [each.text for each in shell_blocks(TUTORIALS / name)]
        port = ReservedPort().number
        script = "\n".join(blocks[from_block:])
        # The same films, but small; only the one that dissolves has as many frames.
        for written, typed in (
            ("127.0.0.1:9000", f"127.0.0.1:{port}"),
            ("endpoint.py --colour", f"endpoint.py --port {port} --colour"),
            ("w-[640px] h-[360px]", "w-[320px] h-[180px]"),
            ("my-film -o first.mp4", "my-film --fps 10 -o first.mp4"),
            ("my-film -o ada.mp4", "my-film --fps 10 -o ada.mp4"),
            ('{"data": {"title"', '{"fps": 10, "data": {"title"'),
        ):
            script = script.replace(written, typed)
        return type_commands(script, self.account, self.folder)


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    clip = tmp_path_factory.mktemp("clips") / "bunny.mp4"
    return scale_clip(ROOT / "examples" / "media" / clip.name, clip, width_px=320, height_px=180)


@pytest.fixture
def reader(account: Account, tmp_path: Path, clip: Path) -> Reader:
    for linked in ("docs", "tests"):
        (tmp_path / linked).symlink_to(ROOT / linked)
    copy_examples(tmp_path / "examples", clip)
    return Reader(account, tmp_path)


def copy_examples(folder: Path, clip: Path) -> None:
    """Copy what the tutorials use of the examples, but smaller: nobody looks closely."""
    (folder / "media").mkdir(parents=True)
    config = (ROOT / "examples" / "greeting.json").read_text("utf-8")
    for large, small in (
        ('"width": 1280, "height": 720', '"width": 320, "height": 180'),
        ('"duration": 4,', '"duration": 4, "fps": 10,'),
        ('"width": 1120, "height": 340', '"width": 280, "height": 85'),
        ('"x": 80, "y": 80', '"x": 20, "y": 20'),
        ('"fontSize": 120', '"fontSize": 30'),
    ):
        assert large in config
        config = config.replace(large, small)
    (folder / "greeting.json").write_text(config)
    (folder / "media" / clip.name).symlink_to(clip)


def test_the_tutorial_of_html_ends_with_films_from_both_ways(
    reader: Reader, tmp_path: Path
) -> None:
    reader.type_tutorial("html-composition.md")
    frames = {name: decode_frames(tmp_path / f"{name}.mp4") for name in ("first", "second")}
    assert {name: len(found) for name, found in frames.items()} == {"first": 50, "second": 135}
    title, footage = frames["second"][30].rgb, frames["second"][100].rgb
    assert max(colour_at(title, 20, 20)) < 60
    assert colour_at(footage, 250, 165)[1] > 80, "grass is green"
    sound = decode_audio(tmp_path / "second.mp4")
    assert rms(sound.mono[: sound.rate_hz]) == pytest.approx(0, abs=1e-4)
    assert rms(sound.mono[2 * sound.rate_hz :]) > 1e-3
    # The same page and other data, by the command line and by the service.
    ada, grace = (decode_frames(tmp_path / f"{name}.mp4")[10].rgb for name in ("ada", "grace"))
    assert (ada > 200).any()
    assert (grace > 200).any()
    assert (ada != grace).any()


def test_the_tutorial_of_templates_makes_a_video_for_each_row(
    reader: Reader, tmp_path: Path
) -> None:
    printed = reader.type_tutorial("personalised-videos.md")
    with Image.open(tmp_path / "look.png") as look:
        assert look.convert("RGB").getpixel((5, 5)) == pytest.approx((11, 110, 79), abs=2)
    assert "colour" in printed, "the field of the mistake is named"
    with ZipFile(tmp_path / "videos.zip") as archive:
        archive.extractall(tmp_path / "videos")
    films = sorted((tmp_path / "videos").glob("*.mp4"))
    colours = [colour_at(decode_frames(film)[20].rgb, 5, 5) for film in films]
    expected = [(123, 45, 139), (11, 110, 79), (180, 69, 31)]
    assert colours == [pytest.approx(colour, abs=4) for colour in expected]


def test_the_tutorial_of_pipelines_ends_with_a_film_that_hides_what_the_model_found(
    reader: Reader, tmp_path: Path
) -> None:
    # The first block starts the service.
    printed = reader.type_tutorial("media-pipeline.md", from_block=1)
    facts, *found = [json.loads(line) for line in printed.splitlines() if line.startswith("{")]
    assert (facts["width"], facts["height"]) == (320, 180)
    assert {each["kind"] for each in found} == {"colour"}
    assert sum(each["boxes"] for each in found) >= 5
    original = decode_frames(tmp_path / "examples" / "media" / "bunny.mp4")
    hidden = decode_frames(tmp_path / "hidden.mp4")
    assert len(hidden) == len(original)
    rabbit, meadow = (slice(65, 135), slice(32, 128)), (slice(145, 180), slice(200, 320))
    for number in (0, len(hidden) // 2):
        change = np.abs(original[number].rgb.astype(int) - hidden[number].rgb)
        assert change[rabbit].mean() > 3 * change[meadow].mean(), number
