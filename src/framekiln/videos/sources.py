"""Looks at the sources of a config before anything is made: fetched, then opened in a child."""

import asyncio
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from framekiln.composition.layers import LayerConfig, PixelSize, SourceFacts, Unusable
from framekiln.composition.layers.sources import addresses_of
from framekiln.composition.layers.values import ImageLayer, Layer, LottieLayer, SubtitlesLayer
from framekiln.engine.assets import MAX_ASSET_BYTES
from framekiln.files.ingest import Ingest
from framekiln.kit.confined.errors import ConfinedFailed
from framekiln.kit.confined.limits import Limits
from framekiln.kit.confined.run import run_confined
from framekiln.kit.errors import Blame, FramekilnError, RemoteFailed
from framekiln.kit.fetch import FetchTooLarge
from framekiln.kit.guarded_transport import FetchRefused
from framekiln.kit.ids import OrganizationId
from framekiln.media.probed_source import (
    ANIMATION,
    CAPTIONS,
    IMAGE,
    MEDIA,
    TASK,
    ProbedSource,
)
from framekiln.storage.blob_store import BlobStore
from framekiln.videos.addresses import every_layer

UNREACHABLE: Final = "asset_unreachable"
UNSUPPORTED: Final = "asset_unsupported"

_LIMITS: Final = Limits(cpu_s=60, memory_bytes=1 << 30, file_bytes=MAX_ASSET_BYTES, wall_s=60)
# Each is a download and then a process.
_AT_A_TIME: Final = 3
_ALL_WITHIN_S: Final = 120.0


@dataclass(frozen=True)
class FoundSources:
    """What is known of the sources of a config, by address."""

    probed: Mapping[str, ProbedSource | Unusable]

    @property
    def media(self) -> dict[str, SourceFacts | Unusable]:
        """The same, as a timeline is resolved with."""
        return {
            address: found if isinstance(found, Unusable) else facts_of(found)
            for address, found in self.probed.items()
        }


@dataclass(frozen=True)
class SourceFinder:
    """Fetches and probes; what cannot be used is told, not raised."""

    ingest: Ingest
    blobs: BlobStore

    async def find(self, organization_id: OrganizationId, config: LayerConfig) -> FoundSources:
        """Return what every source of a config is."""
        wanted = {
            address: kind_for(layer)
            for layer in every_layer(config.layers)
            for address in addresses_of(layer)
        }
        places = asyncio.Semaphore(_AT_A_TIME)
        until_s = asyncio.get_running_loop().time() + _ALL_WITHIN_S

        async def look(address: str, kind: str) -> ProbedSource | Unusable:
            try:
                async with asyncio.timeout_at(until_s), places:
                    return await self.probe(organization_id, address, kind)
            except TimeoutError:
                return Unusable(UNREACHABLE, f"was not here within {_ALL_WITHIN_S:g} s")
            except FramekilnError as error:
                if not is_at_fault(error):
                    raise
                return Unusable(code_of(error), error.message)

        found = await asyncio.gather(*(look(*each) for each in wanted.items()))
        return FoundSources(dict(zip(wanted, found, strict=True)))

    async def probe(self, organization_id: OrganizationId, address: str, kind: str) -> ProbedSource:
        """Return what one source is, or raise why it cannot be fetched or used."""
        asset = await self.ingest.get(organization_id, address)
        with tempfile.TemporaryDirectory(prefix="framekiln-probe-") as folder:
            path = Path(folder) / "source"
            await self.blobs.get_to_file(asset.blob_key, path)
            return await probe_file(path, kind)


async def probe_file(path: Path, kind: str) -> ProbedSource:
    """Return what a local file is. Its folder is its own, and is handed to the child."""
    told = await run_confined(
        TASK, {"source": path.name, "kind": kind}, limits=_LIMITS, folder=path.parent
    )
    return ProbedSource.from_json(told)


def kind_for(layer: Layer) -> str:
    """Return how a layer uses its source."""
    if isinstance(layer, ImageLayer):
        return IMAGE
    if isinstance(layer, SubtitlesLayer):
        return CAPTIONS
    return ANIMATION if isinstance(layer, LottieLayer) else MEDIA


def facts_of(found: ProbedSource) -> SourceFacts:
    """Return what a timeline needs to know of a source."""
    size = None
    if found.width_px is not None and found.height_px is not None:
        size = PixelSize(found.width_px, found.height_px)
    return SourceFacts(size=size, duration_s=found.duration_s, has_sound=found.has_sound)


def code_of(error: FramekilnError) -> str:
    """Return whether a source could not be fetched, or could not be used."""
    is_away = isinstance(error, RemoteFailed | FetchRefused | FetchTooLarge)
    return UNREACHABLE if is_away else UNSUPPORTED


def is_at_fault(error: FramekilnError) -> bool:
    """Tell whether the source is to blame: also for a decoder that fell over it."""
    return error.blame is not Blame.US or isinstance(error, ConfinedFailed)
