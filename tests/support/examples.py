"""The examples gallery: every composition in examples/, and the time of its picture."""

from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image

from framekiln.capture.browser import Browser
from framekiln.cli.compositions import LAYER_CONFIG_ENDING, read_composition
from framekiln.cli.layer_configs import read_layer_config
from framekiln.engine.assets import NoAssets
from framekiln.engine.film import FilmResult, make_still
from framekiln.engine.film_order import FilmOrder, StillMoment
from framekiln.engine.site import PageFolder, SiteAssets
from framekiln.media.images.stills import PngFormat
from tests.support.timeouts import FILM_LIMITS

FOLDER = Path(__file__).parents[2] / "examples"
MAX_PICTURE_PX = 480
QUALITY = 92


@dataclass(frozen=True)
class Example:
    """One composition."""

    file: str
    at_ms: int
    shows: str

    @property
    def path(self) -> Path:
        return FOLDER / self.file

    @property
    def name(self) -> str:
        return self.path.stem

    @property
    def picture_path(self) -> Path:
        return FOLDER / "pictures" / f"{self.name}.webp"


EXAMPLES = (
    Example("title.html", 1600, "Words that rise one after the other"),
    Example("lower-third.html", 2500, "A name over footage"),
    Example("captions.html", 1500, "Captions, word by word"),
    Example("slideshow.html", 1600, "Pictures that move slowly and dissolve"),
    Example("bar-chart.html", 3000, "A chart of the request's data"),
    Example("line-chart.html", 3200, "A line that draws itself, a number that counts up"),
    Example("countdown.html", 1500, "Three, two, one: groups in sequence"),
    Example("audiogram.html", 2500, "Sound as moving bars"),
    Example("story.html", 3000, "A vertical story over footage"),
    Example("quote.html", 4000, "A quotation, line by line"),
    Example("code.html", 4500, "Code that is typed"),
    Example("particles.html", 1500, "A canvas, drawn by a script in each frame"),
    Example("shader.html", 1500, "WebGL, driven by the film's clock"),
    Example("melody.html", 1000, "Sound that a script makes with Web Audio"),
    Example("route.html", 3000, "A route on a map"),
    Example("product-card.html", 2500, "A card that turns in space"),
    Example("logo.html", 2500, "An SVG logo that is drawn and filled"),
    Example("greeting.json", 2500, "A template that is filled with a name and gifts"),
    Example("picture-in-picture.json", 2000, "Two videos, one of them slower"),
    Example("photo-wall.json", 3000, "Photos that slide in"),
    Example("trailer.json", 1500, "Clips that dissolve, with titles and a filter"),
)


def render_picture(example: Example, browser: Browser) -> tuple[Image.Image, FilmResult]:
    """Return the picture of an example in the size of the gallery, and how it was made."""
    with TemporaryDirectory(prefix="example-") as name:
        out = Path(name) / "picture.png"
        film = make_still(
            _order(example, Path(name)),
            browser,
            out,
            PngFormat(transparency=False),
            limits=FILM_LIMITS,
        )
        picture = Image.open(BytesIO(out.read_bytes())).convert("RGB")
    picture.thumbnail((MAX_PICTURE_PX, MAX_PICTURE_PX))
    return picture, film


def _order(example: Example, scratch: Path) -> FilmOrder:
    still = StillMoment(example.at_ms, is_transparent=False)
    if example.path.suffix == LAYER_CONFIG_ENDING:
        read = read_layer_config(example.path, data=None, extension="png", at_ms=example.at_ms)
        assert read.warnings == ()
        folder = PageFolder(FOLDER, page="")
        return FilmOrder(still=still, layers=read.config, assets=SiteAssets(folder, NoAssets()))
    found = read_composition(example.path, scratch=scratch)
    assert found.site is not None
    assets = SiteAssets(found.site, NoAssets())
    return FilmOrder(still=still, html=found.html, site=found.site, assets=assets)


def gallery() -> str:
    """Return the text of the gallery's page."""
    rows = [
        f"| [{each.file}]({each.file}) | {each.shows} | ![{each.name}](pictures/{each.name}.webp) |"
        for each in EXAMPLES
    ]
    return "\n".join([*_HEAD, *rows, ""])


_HEAD = """# Examples

Each is one file that you can render, read and change. Pages (`.html`) are
[compositions](../docs/api/compositions.md) or plain pages; configs (`.json`) are
[layer configs](../docs/api/layers.md), and `greeting.json` is a
[template](../docs/api/templates.md).

```sh
make setup
.venv/bin/framekiln render examples/title.html -o title.mp4
.venv/bin/framekiln render examples/bar-chart.html -o chart.mp4 \\
  --data '{"title": "Sales", "values": {"May": 3, "June": 5}}'
.venv/bin/framekiln render examples/greeting.json -o greeting.mp4 --data '{"name": "Ada"}'
```

`make examples` makes all pictures and this page anew. The [media](media/README.md) are from the
film "Big Buck Bunny".

| File | What it shows | Picture |
|---|---|---|""".splitlines()
