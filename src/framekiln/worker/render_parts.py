"""What handlers of renders have in common."""

from framekiln.renders.assets import Sources
from framekiln.renders.reuse.reusing import Reuse
from framekiln.renders.source_versions import SourceVersions
from framekiln.services import Services


def render_reuse(services: Services) -> Reuse:
    """Return what renders ask before they make something."""
    return Reuse(services.render_work, services.blobs, services.kept_parts)


def render_sources(services: Services) -> Sources:
    """Return where the sources of renders come from."""
    return Sources(
        ingest=services.ingest,
        files=services.files,
        spoken=services.transcripts,
        blobs=services.blobs,
        fetcher=services.fetcher,
        versions=SourceVersions(services.database),
    )
