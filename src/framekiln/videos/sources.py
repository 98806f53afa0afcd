"""Fetches and probes the sources of a config before a render, in a confined child."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from framekiln.composition.layers import LayerConfig, SourceFacts, UnusableSource
from framekiln.composition.layers.sources import addresses_of, every_layer
from framekiln.engine.assets import FILE_ID, MAX_ASSET_BYTES
from framekiln.engine.source_facts import (
    UNREACHABLE,
    UNSUPPORTED,
    timeline_facts,
    unreachable,
    unsupported,
)
from framekiln.files.errors import FileExpired, FileNotFound, FileNotReady
from framekiln.files.ids import parse_file_id
from framekiln.files.ingest import Ingest
from framekiln.files.service import Files
from framekiln.kit.confined.budget import children_of
from framekiln.kit.confined.errors import ConfinedFailed
from framekiln.kit.confined.job_folders import open_job_folders
from framekiln.kit.confined.limits import ResourceLimits
from framekiln.kit.confined.run import run_confined
from framekiln.kit.errors import Blame, FramekilnError, RemoteFailed
from framekiln.kit.fetch import FetchTooLarge
from framekiln.kit.guarded_transport import FetchRefused
from framekiln.kit.ids import OrganizationId
from framekiln.media.probe.probed_source import ProbedSource
from framekiln.media.task_names import PROBE_SOURCE_TASK
from framekiln.storage.blob_store import BlobStore

_LIMITS: Final = ResourceLimits(
    cpu_s=60, memory_bytes=1 << 30, file_bytes=MAX_ASSET_BYTES, wall_s=60
)
# Each of them is a download and then a process.
_AT_A_TIME: Final = 3
_ALL_WITHIN_S: Final = 120.0
_ABSENT_FILE: Final = FileNotFound | FileNotReady | FileExpired


@dataclass(frozen=True)
class ProbedSources:
    """The facts of the sources of a config, by URL."""

    probed: Mapping[str, ProbedSource | UnusableSource]

    @property
    def media(self) -> dict[str, SourceFacts | UnusableSource]:
        """The same, in the form that `resolve` needs."""
        return {address: timeline_facts(found) for address, found in self.probed.items()}


@dataclass(frozen=True)
class SourceFinder:
    """Fetches and probes sources; unusable ones are returned as errors, not raised."""

    ingest: Ingest
    files: Files
    blobs: BlobStore

    async def probe_all(
        self, organization_id: OrganizationId, config: LayerConfig
    ) -> ProbedSources:
        """Return the facts of every source of a config."""
        addresses = dict.fromkeys(
            address for layer in every_layer(config.layers) for address in addresses_of(layer)
        )
        places = asyncio.Semaphore(_AT_A_TIME)
        until_s = asyncio.get_running_loop().time() + _ALL_WITHIN_S

        async def look(address: str) -> ProbedSource | UnusableSource:
            try:
                async with asyncio.timeout_at(until_s), places:
                    return await self.probe(organization_id, address)
            except TimeoutError:
                return unreachable(address, f"it was not here within {_ALL_WITHIN_S:g} s")
            except FramekilnError as error:
                if not is_source_at_fault(error):
                    raise
                if source_error_code(error) == UNREACHABLE:
                    return unreachable(address, error.message)
                return unsupported(address, error)

        found = await asyncio.gather(*(look(address) for address in addresses))
        return ProbedSources(dict(zip(addresses, found, strict=True)))

    async def probe(self, organization_id: OrganizationId, address: str) -> ProbedSource:
        """Return the facts of one source, or raise why it cannot be fetched or used."""
        with open_job_folders("probe") as place:
            await self._fetch(organization_id, address, place.source)
            with children_of(str(organization_id)):
                probed = await run_confined(
                    PROBE_SOURCE_TASK,
                    {"source": str(place.source)},
                    limits=_LIMITS,
                    folder=place.folder,
                    readable=[place.source],
                )
        return ProbedSource.from_json(probed)

    async def _fetch(self, organization_id: OrganizationId, address: str, path: Path) -> None:
        if address.startswith(FILE_ID):
            file_id = parse_file_id(address.removeprefix(FILE_ID))
            await self.files.fetch_media(await self.files.get(organization_id, file_id), path)
            return
        asset = await self.ingest.get(organization_id, address)
        await self.blobs.get_to_read(asset.blob_key, path)


async def probe_file(path: Path) -> ProbedSource:
    """Return the facts of a local file, which is alone in its folder; the child gets the folder."""
    probed = await run_confined(
        PROBE_SOURCE_TASK, {"source": path.name}, limits=_LIMITS, folder=path.parent
    )
    return ProbedSource.from_json(probed)


def source_error_code(error: FramekilnError) -> str:
    """Return the code of a source that could not be fetched, or could not be used."""
    is_away = isinstance(error, RemoteFailed | FetchRefused | FetchTooLarge | _ABSENT_FILE)
    return UNREACHABLE if is_away else UNSUPPORTED


def is_source_at_fault(error: FramekilnError) -> bool:
    """Whether the source caused the error; also if it crashed a decoder."""
    return error.blame is not Blame.US or isinstance(error, ConfinedFailed)
