"""Playback of any source: its manifests as HLS, DASH or JSON, and the presets."""

from typing import Final

from framekiln.client.operations import Connection_co, RemotePart, Steps, operation
from framekiln.client.responses import Json

_TRANSCODE: Final = "/api/v1/transcode"


class RemotePlayback(RemotePart[Connection_co]):
    """Manifests for players, which request the segments themselves: give them a link."""

    @operation
    def hls(self, source_url: str) -> Steps[str]:
        """Return the HLS playlist of a source."""
        return (yield from self._manifest("m3u8", source_url))

    @operation
    def dash(self, source_url: str) -> Steps[str]:
        """Return the DASH manifest of a source."""
        return (yield from self._manifest("mpd", source_url))

    @operation
    def manifest(self, source_url: str) -> Steps[Json]:
        """Return the renditions of a source and their segments."""
        path = f"{_TRANSCODE}/manifest.json"
        return (yield from self._read("GET", path, params={"url": source_url}))

    @operation
    def presets(self) -> Steps[Json]:
        """Return the renditions that a source may have."""
        return (yield from self._read("GET", f"{_TRANSCODE}/presets"))

    def _manifest(self, ending: str, source_url: str) -> Steps[str]:
        path = f"{_TRANSCODE}/manifest.{ending}"
        return (yield from self._request("GET", path, params={"url": source_url})).text
