"""publish: where the input file can be played. Makes nothing: players' requests do."""

from dataclasses import dataclass
from typing import Any

from framekiln.files.service import Files
from framekiln.pipelines.definitions.steps import publish
from framekiln.pipelines.outputs.output import Output
from framekiln.pipelines.runners.step import StepWork
from framekiln.playback.links import Links

_MANIFESTS = {"hls": "manifest.m3u8", "dash": "manifest.mpd"}


@dataclass(frozen=True)
class Publish:
    """Runs publish steps."""

    files: Files
    public_url: str

    async def run(self, work: StepWork) -> Output:
        """Return addresses that need an API key, a session or a URL token."""
        self.files.check_readable(work.file)
        settings = work.step.settings
        assert isinstance(settings, publish.Settings)
        source_url = f"{self.public_url}/api/v1/files/{work.file.id}/content"
        links = Links(source_url)
        metadata: dict[str, Any] = {"file_id": str(work.file.id), "source_url": source_url}
        for name in settings.formats:
            metadata[f"{name}_url"] = links.absolute(self.public_url, _MANIFESTS[name])
        return Output(metadata)
