"""Makes all golden films with two checkouts and compares their bytes.

`python scripts/compare_films.py OLD NEW [NAME...]` takes two folders in which `make setup` was run.
Both get the same media, which the first one makes. The films stay in --folder, to be looked at.
"""

import argparse
import filecmp
import os
import subprocess
import sys
from pathlib import Path
from tempfile import mkdtemp


def main() -> int:
    """Make the films with each checkout, and print those that differ."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("names", nargs="*", help="such as page-countdown; all without names")
    parser.add_argument("--folder", type=Path, help="films that it has already are not made again")
    given = parser.parse_args()
    folder = given.folder or Path(mkdtemp(prefix="films-"))
    made = {
        side: film_checkout(checkout.resolve(), folder / side, folder / "media", given.names)
        for side, checkout in (("old", given.old), ("new", given.new))
    }
    names = sorted(made["old"].keys() | made["new"].keys())
    differing = [name for name in names if not is_equal(made["old"], made["new"], name)]
    for name in differing:
        print(f"{name}: the films differ")
    print(f"{len(names) - len(differing)} of {len(names)} films have the same bytes; see {folder}")
    return 1 if differing else 0


def film_checkout(checkout: Path, folder: Path, media: Path, names: list[str]) -> dict[str, Path]:
    """Make the films of one checkout in a process with its code and its tests' compositions."""
    folder.mkdir(parents=True, exist_ok=True)
    python = checkout / ".venv" / "bin" / "python"
    # An editable installation would win over the folder of another checkout otherwise.
    environment = os.environ | {"PYTHONPATH": f"{checkout / 'src'}:{checkout}"}
    subprocess.run(
        [python, "-c", _FILM_ALL, folder.resolve(), media.resolve(), *names],
        check=True,
        cwd=checkout,
        env=environment,
    )
    found = {path.stem: path for path in folder.iterdir()}
    return {name: found[name] for name in names or found}


def is_equal(old: dict[str, Path], new: dict[str, Path], name: str) -> bool:
    """Tell whether both have a film, with equal bytes."""
    return name in old and name in new and filecmp.cmp(old[name], new[name], shallow=False)


_FILM_ALL = """
import sys
from pathlib import Path

from tests.support.golden import compositions, render
from tests.support.golden_video_media import video_makers
from tests.support.golden_videos import film_video, golden_videos
from tests.support.libraries import module_makers
from tests.support.local_assets import LocalAssets
from tests.support.stock_media import stock_makers

from framekiln.capture.browser import open_browser

folder, media, *names = sys.argv[1:]
pages = LocalAssets(Path(media) / "pages", stock_makers() | module_makers())
layers = LocalAssets(Path(media) / "videos", video_makers())
made = {path.stem for path in Path(folder).iterdir()}
with open_browser() as browser:
    for kind, one, make, assets in (
        *(("page", each, render, pages) for each in compositions()),
        *(("video", each, film_video, layers) for each in golden_videos()),
    ):
        name = f"{kind}-{one.name}"
        if name not in made and (not names or name in names):
            print(name, file=sys.stderr, flush=True)
            work = Path(media).parent / "unfinished"
            work.mkdir(exist_ok=True)
            path = make(one, browser, work, assets=assets).path
            path.rename(Path(folder) / f"{name}{path.suffix}")
"""

if __name__ == "__main__":
    sys.exit(main())
