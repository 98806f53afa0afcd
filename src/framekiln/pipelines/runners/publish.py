"""publish: where the input file, or a redaction of it, can be played.

Makes nothing: players' requests do.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from framekiln.files.model import File
from framekiln.files.service import Files
from framekiln.kit.ids import RenderId
from framekiln.pipelines.definition.published_source import nearest_redactions
from framekiln.pipelines.definition.steps import publish
from framekiln.pipelines.outputs.model import StepOutput
from framekiln.pipelines.runners.errors import AmbiguousRedaction, RedactionFailed
from framekiln.pipelines.runners.step import StepWork
from framekiln.playback.manifests.links import ManifestLinks
from framekiln.renders.model import RenderNotFound
from framekiln.renders.service import Renders

_MANIFESTS = {"hls": "manifest.m3u8", "dash": "manifest.mpd"}


@dataclass(frozen=True)
class Publish:
    """Runs publish steps."""

    files: Files
    renders: Renders
    public_url: str

    async def run(self, work: StepWork) -> StepOutput:
        """Return addresses that need an API key, a session or a URL token."""
        self.files.check_readable(work.file)
        settings = work.step.settings
        assert isinstance(settings, publish.Settings)
        redaction = redaction_before(work) if settings.source == publish.REDACTED else None
        if redaction is None:
            return self._original(work.file, settings)
        await self._check_there(work, redaction)
        return self._redacted(work.file, settings, redaction)

    def _original(self, file: File, settings: publish.Settings) -> StepOutput:
        source_url = f"{self.public_url}/api/v1/files/{file.id}/content"
        metadata: dict[str, Any] = {"file_id": str(file.id), "source": publish.ORIGINAL}
        # A file that was uploaded as tracks is nowhere whole.
        if file.has_source:
            metadata["source_url"] = source_url
        return StepOutput(metadata | self._manifests(source_url, settings))

    def _redacted(
        self, file: File, settings: publish.Settings, redaction: Mapping[str, Any]
    ) -> StepOutput:
        source_url = redaction["output_url"]
        metadata = {
            "file_id": str(file.id),
            "source": publish.REDACTED,
            "render_id": redaction["render_id"],
            "source_url": source_url,
        }
        return StepOutput(metadata | self._manifests(source_url, settings))

    def _manifests(self, source_url: str, settings: publish.Settings) -> dict[str, str]:
        links = ManifestLinks(source_url)
        return {
            f"{name}_url": links.absolute(self.public_url, _MANIFESTS[name])
            for name in settings.formats
        }

    async def _check_there(self, work: StepWork, redaction: Mapping[str, Any]) -> None:
        render_id = RenderId(UUID(redaction["render_id"]))
        try:
            await self.renders.get(work.run.organization_id, render_id)
        except RenderNotFound as error:
            raise RedactionFailed(f"render {render_id} was deleted") from error


def redaction_before(work: StepWork) -> Mapping[str, Any] | None:
    """Return what the nearest redaction told that had anything to hide; None if none had.

    One that was skipped hides nothing, so what an earlier one hid must not come back.
    """
    for level in nearest_redactions(work.definition, work.step.key):
        told = [work.inputs[step.namespace].metadata for step in level]
        made = [each for each in told if each["status"] == "complete"]
        if len(made) > 1:
            names = ", ".join(step.key for step in level)
            raise AmbiguousRedaction(
                f"the steps {names} are equally near and hide different things: let the step to"
                " be published come after the others"
            )
        if made:
            return made[0]
    return None
