"""Orders for films of local compositions: for `framekiln render` and `framekiln preview`.

What only some compositions need is imported for those: it takes longer than a short film.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from framekiln.capture.network import Resource
from framekiln.cli.compositions import LAYER_CONFIG_ENDING, Composition, read_composition
from framekiln.composition.render_preset import RenderPreset
from framekiln.engine.assets import Assets, LocalAsset
from framekiln.engine.film_order import FilmOrder
from framekiln.engine.page_api import NoService
from framekiln.engine.site import PageFolder, Site, SiteAssets
from framekiln.kit.errors import InvalidInput
from framekiln.preview.watched_files import WatchedFiles
from framekiln.settings import Settings

if TYPE_CHECKING:
    from framekiln.engine.fetched_assets import FetchedAssets
    from framekiln.playback.page_player import PlayerWithoutService


class _PlayerOnDemand(NoService):
    """Plays sources for pages with an external runtime."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def play(self, path: str, query: Mapping[str, str], source: LocalAsset) -> Resource | None:
        """Return the answer to a path that plays a source by address, from its local file."""
        return self._player.play(path, query, source)

    @cached_property
    def _player(self) -> "PlayerWithoutService":
        from framekiln.playback.page_player import PlayerWithoutService  # noqa: PLC0415

        return PlayerWithoutService(self._folder)


class _AssetsOnDemand:
    """Fetches URLs of a composition."""

    def __init__(self, settings: Settings, folder: Path) -> None:
        self._settings = settings
        self._folder = folder

    def fetch(self, url: str) -> LocalAsset:
        """Return the file at an address."""
        return self._assets.fetch(url)

    @cached_property
    def _assets(self) -> "FetchedAssets":
        from framekiln.engine.fetched_assets import FetchedAssets  # noqa: PLC0415
        from framekiln.kit.fetch import GuardedFetcher  # noqa: PLC0415

        allowed, ca_file = self._settings.fetch_allow, self._settings.fetch_ca_file
        return FetchedAssets(GuardedFetcher(allowed, ca_file=ca_file), self._folder)


def with_composition(
    order: FilmOrder,
    named: Path,
    settings: Settings,
    *,
    scratch: Path,
    page: str | None = None,
    files: WatchedFiles | None = None,
) -> tuple[FilmOrder, tuple[str, ...]]:
    """Return the order with what is named, and warnings about it.

    `page` is HTML instead, without files. `files` notes what the composition uses.
    """
    assets: Assets = _AssetsOnDemand(settings, scratch)
    if page is None and named.suffix.lower() == LAYER_CONFIG_ENDING:
        return _with_layers(order, named, assets, files=files)
    found = read_composition(named, scratch=scratch) if page is None else Composition(page, None)
    site = found.site if files is None else files.watched(found.site)
    if site is not None:
        assets = SiteAssets(site, assets)
    service = _PlayerOnDemand(scratch)
    return replace(order, html=found.html, site=site, assets=assets, service=service), ()


def _with_layers(
    order: FilmOrder, named: Path, assets: Assets, *, files: WatchedFiles | None
) -> tuple[FilmOrder, tuple[str, ...]]:
    """Return the order for a layer config, which has its own size, frame rate and length."""
    from framekiln.cli.layer_configs import read_layer_config  # noqa: PLC0415

    fields = {
        "--width": (order.width_px, "dimensions"),
        "--height": (order.height_px, "dimensions"),
        "--fps": (order.fps, "fps"),
        "--duration-ms": (order.duration_ms, "duration"),
    }
    for option, (value, field) in fields.items():
        if value is not None:
            raise InvalidInput(f"{option} works only for pages: set {field} in {named}")
    moment = order.still
    read = read_layer_config(
        named,
        data=order.data,
        extension=order.container if moment is None else "png",
        at_ms=None if moment is None else moment.at_ms,
    )
    config = read.config
    if order.preset is not RenderPreset.STANDARD:
        config = replace(config, preset=order.preset)
    folder: Site = PageFolder(named.absolute().parent, page="")
    folder = folder if files is None else files.watched(folder)
    order = replace(order, layers=config, data=None, assets=SiteAssets(folder, assets))
    return order, tuple(f"{each.path}: {each.message}" for each in read.warnings)
