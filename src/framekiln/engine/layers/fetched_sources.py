"""Fetches and probes every source of a config once."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from framekiln.composition.layers import LayerConfig, SourceFacts, UnusableSource
from framekiln.composition.layers.sources import addresses_of, every_layer
from framekiln.engine.assets import Assets, LocalAsset, file_digest
from framekiln.engine.source_facts import timeline_facts, unreachable, unsupported
from framekiln.kit.cancellation import in_other_thread
from framekiln.kit.errors import FramekilnError
from framekiln.media.probe.probed_source import ProbedSource
from framekiln.media.source_session import SourceSession

_AT_ONCE: Final = 6


@dataclass(frozen=True)
class FetchedSources:
    """The sources of a config, by URL."""

    files: dict[str, LocalAsset] = field(default_factory=dict)
    probed: dict[str, ProbedSource] = field(default_factory=dict)
    """The usable sources."""
    media: dict[str, SourceFacts | UnusableSource] = field(default_factory=dict)
    """All sources, in the form that `resolve` needs."""
    retryable: set[str] = field(default_factory=set)
    """URLs that failed with a retryable error."""
    _digests: dict[str, str] = field(default_factory=dict, init=False)

    def digest(self, address: str) -> str:
        """Return the digest of a source's bytes; it is computed on first use."""
        if address not in self._digests:
            self._digests[address] = file_digest(self.path(address))
        return self._digests[address]

    def path(self, address: str) -> Path:
        """Return the path of a usable source."""
        return self.files[address].path


def fetch_sources(config: LayerConfig, assets: Assets, session: SourceSession) -> FetchedSources:
    """Return all sources; problems are part of the facts of a source and never raised."""
    fetched = FetchedSources()
    wanted = dict.fromkeys(
        address for layer in every_layer(config.layers) for address in addresses_of(layer)
    )
    with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="sources") as threads:
        find = in_other_thread(lambda address: _find(address, assets, session))
        found = threads.map(find, wanted)
        for address, (asset, probed, may_come) in zip(wanted, found, strict=True):
            fetched.media[address] = timeline_facts(probed)
            if asset is not None:
                fetched.files[address] = asset
            if isinstance(probed, ProbedSource):
                fetched.probed[address] = probed
            if may_come:
                fetched.retryable.add(address)
    return fetched


def _find(
    address: str, assets: Assets, session: SourceSession
) -> tuple[LocalAsset | None, ProbedSource | UnusableSource, bool]:
    try:
        asset = assets.fetch(address)
    except FramekilnError as error:
        return None, unreachable(address, error.message), error.retryable
    try:
        return asset, session.probe(asset.path, name=address), False
    except FramekilnError as error:
        return asset, unsupported(address, error), error.retryable
