"""Makes films of layer configs, from local test media, and returns their frames."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from framekiln.capture.browser import Browser
from framekiln.composition.layers import read_config
from framekiln.compositor.picture import rgba_of
from framekiln.compositor.scene import Scene
from framekiln.engine.assets import Assets
from framekiln.engine.film import make_film
from framekiln.engine.film_order import FilmOrder
from framekiln.engine.layers.layer_effects import yuv_colour
from framekiln.engine.layers.renderer import LayerRenderer, open_layer_renderer
from tests.support.frame_codes import Picture, read_frame_code
from tests.support.timeouts import FILM_LIMITS


def config_of(*layers: dict[str, Any], **top: Any) -> dict[str, Any]:
    """Return a small config; times are seconds, with 30 frames each."""
    return {
        "dimensions": {"width": 320, "height": 240},
        "duration": 2,
        "layers": list(layers),
        **top,
    }


@dataclass
class LayerFilm:
    """An opened config, frame by frame."""

    renderer: LayerRenderer
    _scene: Scene = field(init=False)

    def __post_init__(self) -> None:
        size = self.renderer.plan.size
        background = yuv_colour(self.renderer.resolved.config.background)
        self._scene = Scene(size.width_px, size.height_px, background=background)

    def frame(self, number: int) -> Picture:
        """Return a frame as RGB, drawn over the previously requested one."""
        self._scene.show(self.renderer.scene_items(number))
        return rgba_of(self._scene.picture)[..., :3].copy()

    def changed(self, number: int) -> bool:
        """Whether a frame differs from the previously requested one."""
        return self._scene.show(self.renderer.scene_items(number))

    def code(self, number: int, *, box: tuple[int, int, int, int] | None = None) -> int | None:
        """Return the number of the visible source frame: in the whole frame, or in a box of it."""
        picture = self.frame(number)
        if box is not None:
            left, top, width, height = box
            picture = picture[top : top + height, left : left + width]
        return read_frame_code(picture)


@contextmanager
def open_layer_film(
    config: dict[str, Any], browser: Browser | None, assets: Assets
) -> Iterator[LayerFilm]:
    """Open a config; without a browser, for configs that must not need one."""
    order = FilmOrder(layers=read_config(config).config, assets=assets)
    with open_layer_renderer(order, browser, FILM_LIMITS) as stage:  # type: ignore[arg-type]
        yield LayerFilm(stage)


def film_of(config: dict[str, Any], browser: Browser, assets: Assets, path: Path) -> Path:
    """Make the whole film, video and audio."""
    order = FilmOrder(layers=read_config(config).config, assets=assets)
    make_film(order, browser, path, limits=FILM_LIMITS)
    return path


def times(*seconds: float) -> list[Fraction]:
    """Return instants as fractions."""
    return [Fraction(str(each)) for each in seconds]


def mean_colour(picture: Picture, left: int, top: int, right: int, bottom: int) -> list[int]:
    """Return the mean colour of a rectangle."""
    part = picture[top:bottom, left:right].reshape(-1, 3)
    return [round(float(value)) for value in np.mean(part, axis=0)]
