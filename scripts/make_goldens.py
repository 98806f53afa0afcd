"""Writes the golden pictures of the compositions under tests/e2e/renders.

`make goldens` calls it; with names it makes only those: `python scripts/make_goldens.py countdown`.
Look at every picture that it changes before committing it: a golden is what tests believe.
"""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.support.frame_codes import Picture
from tests.support.golden import Composition, Rendered, compare, compositions, render
from tests.support.libraries import module_makers
from tests.support.local_assets import LocalAssets
from tests.support.stock import stock_makers

from framekiln.capture.browser import open_browser


def main(names: list[str]) -> int:
    """Render what is named, or everything."""
    known = {each.name: each for each in compositions()}
    unknown = [name for name in names if name not in known]
    if unknown:
        print(f"there is no composition {', '.join(unknown)}", file=sys.stderr)
        return 2
    with TemporaryDirectory(prefix="goldens-") as name, open_browser() as browser:
        folder = Path(name)
        assets = LocalAssets(folder / "media", stock_makers() | module_makers())
        for chosen in names or known:
            write_goldens(render(known[chosen], browser, folder, assets=assets))
    return 0


def write_goldens(rendered: Rendered) -> None:
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


def is_as_before(composition: Composition, at_ms: int, picture: Picture) -> bool:
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
