"""What the service makes of a file: tracks, an index, frames, thumbnails and a waveform."""

from pathlib import Path
from typing import Final
from urllib.parse import urlencode

from framekiln.client.operations import Connection_co, RemotePart, Steps, operation
from framekiln.client.responses import Json

_FILES: Final = "/api/v1/files"


class RemoteFileMedia(RemotePart[Connection_co]):
    """Methods of `client.files` about files that are ready."""

    @operation
    def index(self, file_id: str) -> Steps[Json]:
        """Return the tracks of a file and where their fragments are."""
        return (yield from self._read("GET", f"{_FILES}/{file_id}/index"))

    @operation
    def download_track(self, file_id: str, track_id: int, path: Path) -> Steps[None]:
        """Write one track to a local MP4 file."""
        yield from self._save(f"{_FILES}/{file_id}/tracks/{track_id}", path)

    @operation
    def download_part(
        self, file_id: str, path: Path, *, to_ms: int, from_ms: int = 0, track_id: int | None = None
    ) -> Steps[None]:
        """Write a part of a streamed upload to a local MP4 file, also while it arrives."""
        query = {"from_ms": from_ms, "to_ms": to_ms}
        if track_id is not None:
            query["track_id"] = track_id
        yield from self._save(f"{_FILES}/{file_id}/stream/media.mp4?{urlencode(query)}", path)

    @operation
    def frame(self, file_id: str, number: int) -> Steps[bytes]:
        """Return a frame of a video by its number, from 0, as JPEG."""
        path = f"{_FILES}/{file_id}/frames/number/{number}.jpg"
        return (yield from self._request("GET", path)).content

    @operation
    def frame_times(self, file_id: str) -> Steps[Json]:
        """Return when each frame of a video is shown."""
        return (yield from self._read("GET", f"{_FILES}/{file_id}/frame-times"))

    @operation
    def sampled_frame(self, file_id: str, at_ms: int) -> Steps[bytes]:
        """Return a frame that a `sample_frames` step took, as JPEG."""
        return (yield from self._request("GET", f"{_FILES}/{file_id}/frames/{at_ms}.jpg")).content

    @operation
    def thumbnails(self, file_id: str) -> Steps[bytes]:
        """Return a sheet of thumbnails of a video, as JPEG."""
        return (yield from self._request("GET", f"{_FILES}/{file_id}/thumbnails.jpg")).content

    @operation
    def waveform(self, file_id: str) -> Steps[Json]:
        """Return the loudness of a file over its time."""
        return (yield from self._read("GET", f"{_FILES}/{file_id}/waveform.json"))
