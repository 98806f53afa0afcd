"""Fetches every source of a config once, and has it looked at."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from framekiln.composition.layers import LayerConfig, SourceFacts, Unusable
from framekiln.composition.layers.sources import addresses_of, every_layer
from framekiln.engine.assets import Assets, LocalAsset
from framekiln.engine.layers.source_facts import timeline_facts, unreachable, unsupported
from framekiln.engine.watched_assets import file_digest
from framekiln.kit.errors import FramekilnError
from framekiln.media.probed_source import ProbedSource
from framekiln.media.source_probe import probe_source

_AT_ONCE: Final = 6


@dataclass(frozen=True)
class Gathered:
    """The sources of a config, by address."""

    files: dict[str, LocalAsset] = field(default_factory=dict)
    probed: dict[str, ProbedSource] = field(default_factory=dict)
    """Those that can be used."""
    media: dict[str, SourceFacts | Unusable] = field(default_factory=dict)
    """All of them, as a timeline is resolved with."""
    may_come: set[str] = field(default_factory=set)
    """Those that could not be had this time, and perhaps can be later."""
    _digests: dict[str, str] = field(default_factory=dict, init=False)

    def digest(self, address: str) -> str:
        """Return the digest of a source's bytes; they are read once, when it is first asked."""
        if address not in self._digests:
            self._digests[address] = file_digest(self.path(address))
        return self._digests[address]

    def path(self, address: str) -> Path:
        """Return where a source that can be used lies."""
        return self.files[address].path


def gather(config: LayerConfig, assets: Assets) -> Gathered:
    """Return all sources; what is wrong with one is told by its facts, never raised."""
    gathered = Gathered()
    wanted = dict.fromkeys(
        address for layer in every_layer(config.layers) for address in addresses_of(layer)
    )
    with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="sources") as threads:
        found = threads.map(lambda address: _find(address, assets), wanted)
        for address, (asset, probed, may_come) in zip(wanted, found, strict=True):
            gathered.media[address] = timeline_facts(probed)
            if asset is not None:
                gathered.files[address] = asset
            if isinstance(probed, ProbedSource):
                gathered.probed[address] = probed
            if may_come:
                gathered.may_come.add(address)
    return gathered


def _find(address: str, assets: Assets) -> tuple[LocalAsset | None, ProbedSource | Unusable, bool]:
    try:
        asset = assets.fetch(address)
    except FramekilnError as error:
        return None, unreachable(address, error.message), error.retryable
    try:
        return asset, probe_source(asset.path), False
    except FramekilnError as error:
        return asset, unsupported(address, error), False
