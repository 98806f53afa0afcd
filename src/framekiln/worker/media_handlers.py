"""Handlers of jobs that mix sound and join slices."""

from framekiln.jobs.model import Handler
from framekiln.kit.confined.warm_sandbox import WarmSandbox
from framekiln.renders.assets import AssetSources, SourceVersions
from framekiln.renders.cache import RenderCache
from framekiln.renders.handlers.media import JoinRender, MixSound
from framekiln.renders.jobs import JOIN_RENDER, MIX_SOUND
from framekiln.services import Services


def media_handlers(services: Services, sandbox: WarmSandbox) -> dict[str, Handler]:
    """Return the handlers by job kind."""
    work, blobs, new_blobs = services.render_worker, services.blobs, services.new_blobs
    cache = render_cache(services)
    return {
        MIX_SOUND: MixSound(work, blobs, new_blobs, render_sources(services), cache, services.jobs),
        JOIN_RENDER: JoinRender(work, blobs, new_blobs, services.blob_deletions, sandbox),
    }


def render_cache(services: Services) -> RenderCache:
    """Return the cache of renders and their parts."""
    return RenderCache(services.render_worker, services.part_cache)


def render_sources(services: Services) -> AssetSources:
    """Return the sources of renders."""
    return AssetSources(
        ingest=services.ingest,
        files=services.files,
        captions=services.transcripts,
        blobs=services.blobs,
        fetcher=services.fetcher,
        versions=SourceVersions(services.database),
    )
