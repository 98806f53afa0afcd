"""Writes the goldens of the compositions and videos under tests/e2e/renders and tests/e2e/videos.

`make goldens` calls it; with names it makes only those: `python scripts/make_goldens.py countdown`.
Look at every picture that it changes before committing it: a golden is what tests believe.
"""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.support.frame_codes import Picture
from tests.support.golden import (
    GoldenComposition,
    RenderedComposition,
    compare,
    compositions,
    render,
)
from tests.support.golden_video_media import video_makers
from tests.support.golden_videos import (
    GoldenVideo,
    RenderedVideo,
    film_video,
    golden_videos,
    sounds_alike,
)
from tests.support.libraries import module_makers
from tests.support.local_assets import LocalAssets
from tests.support.stock_media import stock_makers

from framekiln.capture.browser import open_browser


def main(names: list[str]) -> int:
    """Render what is named, or everything."""
    pages = {each.name: each for each in compositions()}
    videos = {each.name: each for each in golden_videos()}
    known = pages.keys() | videos.keys()
    unknown = [name for name in names if name not in known]
    if unknown:
        print(f"there is neither a composition nor a video {', '.join(unknown)}", file=sys.stderr)
        return 2
    with TemporaryDirectory(prefix="goldens-") as name, open_browser() as browser:
        folder = Path(name)
        assets = LocalAssets(folder / "media", stock_makers() | module_makers())
        stock = LocalAssets(folder / "stock", video_makers())
        for chosen in names or sorted(known):
            if chosen in pages:
                write_goldens(render(pages[chosen], browser, folder, assets=assets))
            if chosen in videos:
                write_video(film_video(videos[chosen], browser, folder, assets=stock))
    return 0


def write_video(filmed: RenderedVideo) -> None:
    """Replace the goldens of one video, unless they are as good as before."""
    video = filmed.video
    for warning in filmed.warnings:
        print(f"{video.name}: warning: {warning}")
    if not video.sheet_path.exists() or not is_video_as_before(video, filmed):
        video.write(filmed)
        print(f"{video.sheet_path}: written")


def is_video_as_before(video: GoldenVideo, filmed: RenderedVideo) -> bool:
    """Tell whether a new video is what its goldens say already."""
    golden, sheet = video.sheet, filmed.sheet
    if golden.shape != sheet.shape or not sounds_alike(filmed.levels, video.levels):
        return False
    likeness = compare(sheet, golden)
    return likeness.ssim > 0.985 and likeness.tile_difference < 6


def write_goldens(rendered: RenderedComposition) -> None:
    """Replace the goldens of one composition; those that are as good as before stay."""
    composition = rendered.composition
    for warning in rendered.warnings:
        print(f"{composition.name}: warning: {warning}")
    wanted = {composition.golden_path(at_ms) for at_ms in rendered.pictures}
    for old in set(composition.folder.glob("*ms.jpg")) - wanted:
        old.unlink()
    for at_ms, picture in rendered.pictures.items():
        if is_as_before(composition, at_ms, picture):
            continue
        composition.write_golden(at_ms, picture)
        print(f"{composition.golden_path(at_ms)}: written")


def is_as_before(composition: GoldenComposition, at_ms: int, picture: Picture) -> bool:
    """Tell whether a new picture is what its golden shows already."""
    if not composition.golden_path(at_ms).exists():
        return False
    golden = composition.golden(at_ms)
    if golden.shape != picture.shape:
        return False
    likeness = compare(picture, golden)
    return likeness.ssim > 0.985 and likeness.tile_difference < 6


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
