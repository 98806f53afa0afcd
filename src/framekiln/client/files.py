"""Files on the service: upload, show and delete them."""

from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from framekiln.client.errors import ServiceRefused
from framekiln.client.file_media import RemoteFileMedia
from framekiln.client.model import RemoteFile
from framekiln.client.operations import (
    Connection_co,
    Items,
    Steps,
    Work,
    listing,
    operation,
)
from framekiln.client.responses import Json, OnFraction
from framekiln.client.uploads import (
    OnBytes,
    RemoteUploads,
    file_md5,
    file_size,
    split_video,
)

_FILES: Final = "/api/v1/files"
_NOT_FOUND: Final = 404
_IMAGES: Final = {".jpg", ".jpeg", ".png", ".gif", ".webp", ".svg"}
_CAPTIONS: Final = {".vtt", ".srt", ".json"}

OnRegistered = Callable[[str], None]
"""Gets the id of the file before anything is sent; a stream can be resumed with it."""


def guess_type(path: Path) -> str:
    """Guess the type of a file by its name; audio is a video without frames."""
    ending = path.suffix.lower()
    if ending in _IMAGES:
        return "image"
    return "caption" if ending in _CAPTIONS else "video"


class RemoteFiles(RemoteUploads[Connection_co], RemoteFileMedia[Connection_co]):
    """The files of an organization."""

    @operation
    def get(self, file_id: str) -> Steps[RemoteFile]:
        """Return a file."""
        return RemoteFile.of((yield from self._read("GET", f"{_FILES}/{file_id}")))

    @listing
    def list(
        self,
        *,
        search: str | None = None,
        status: str | None = None,
        file_type: str | None = None,
    ) -> Items[RemoteFile]:
        """Yield files, newest first; `search` is text in their names."""
        query = {"search": search, "status": status, "type": file_type}
        return self._items(_FILES, "files", RemoteFile.of, **query)

    @operation
    def by_md5(self, md5: str) -> Steps[RemoteFile | None]:
        """Return the newest file with this MD5, if there is one."""
        try:
            return RemoteFile.of((yield from self._read("GET", f"{_FILES}/md5/{md5}")))
        except ServiceRefused as error:
            if error.details["status"] == _NOT_FOUND:
                return None
            raise

    @operation
    def delete(self, file_id: str) -> Steps[None]:
        """Delete a file and all that belongs to it."""
        yield from self._request("DELETE", f"{_FILES}/{file_id}")

    @operation
    def download(self, file_id: str, path: Path) -> Steps[None]:
        """Write the content to a local file, which appears complete or not at all."""
        yield from self._save(f"{_FILES}/{file_id}/content", path)

    @operation
    def upload(
        self,
        path: Path,
        on_progress: OnBytes = lambda _done, _all: None,
        *,
        file_type: str | None = None,
        expires_at: str | None = None,
        on_begun: OnRegistered = lambda _: None,
    ) -> Steps[RemoteFile]:
        """Upload a local file, or the rest of an earlier upload; return the file afterwards.

        A file that the service already has is not sent again.
        """
        size_bytes = file_size(path)
        body = {
            "filename": path.name,
            "type": file_type or guess_type(path),
            "byte_size": size_bytes,
            "md5": (yield Work(lambda: file_md5(path))),
            "expires_at": expires_at,
        }
        # Idempotent: the service finds the file again by its MD5.
        created = RemoteFile.of((yield from self._read("POST", _FILES, json=body)))
        on_begun(created.id)
        yield from self.send_file(f"{_FILES}/{created.id}/upload", path, on_progress)
        return RemoteFile.of((yield from self._read("GET", f"{_FILES}/{created.id}")))

    @operation
    def upload_streamed(
        self,
        path: Path,
        on_progress: OnBytes = lambda _done, _all: None,
        *,
        file_id: str | None = None,
        expires_at: str | None = None,
        on_begun: OnRegistered = lambda _: None,
    ) -> Steps[RemoteFile]:
        """Upload a local video as fragments and seal it; with `file_id`, resume the upload."""
        file_size(path)
        with TemporaryDirectory(prefix="framekiln-stream-") as folder:
            tracks = yield Work(lambda: split_video(path, Path(folder)))
            if file_id is None:
                stream = yield from self.begin_stream(path.name, tracks, expires_at)
            else:
                stream = yield from self._read("GET", f"{_FILES}/{file_id}/stream")
            on_begun(stream["id"])
            yield from self.send_stream(stream, tracks, on_progress)
        return RemoteFile.of((yield from self._read("GET", f"{_FILES}/{stream['id']}")))

    @operation
    def wait_ready(
        self, file_id: str, on_fraction: OnFraction = lambda _: None
    ) -> Steps[RemoteFile]:
        """Return a file when it is ready, or raise `EndedBadly` with the reason."""
        yield from self._follow(f"{_FILES}/{file_id}/progress", on_fraction)
        return RemoteFile.of((yield from self._read("GET", f"{_FILES}/{file_id}")))

    @operation
    def create_track(self, /, file_id: str, **track: Any) -> Steps[Json]:
        """Register a prepared track; the fields are those of POST /api/v1/files/:id/tracks."""
        return (yield from self._read_once("POST", f"{_FILES}/{file_id}/tracks", json=track))

    @operation
    def upload_track(
        self,
        file_id: str,
        track_id: int,
        path: Path,
        *,
        on_progress: OnBytes = lambda _done, _all: None,
    ) -> Steps[None]:
        """Upload a prepared track: a fragmented MP4 that is used as it is."""
        yield from self.send_file(f"{_FILES}/{file_id}/tracks/{track_id}/upload", path, on_progress)

    @operation
    def upload_index(self, file_id: str, index: Mapping[str, Any]) -> Steps[Json]:
        """Upload the index of prepared tracks, which completes the file."""
        path = f"{_FILES}/{file_id}/index/upload"
        return (yield from self._read_once("POST", path, json=dict(index)))

    @listing
    def namespaces(self, file_id: str) -> Items[Json]:
        """Yield the namespaces that pipelines have written for a file, and their last writers."""
        return self._items(f"{_FILES}/{file_id}/metadata", "namespaces", dict)

    @listing
    def metadata(self, file_id: str, namespace: str) -> Items[Json]:
        """Yield `window` and `output` of the latest entries of a namespace, in order."""
        return self._items(f"{_FILES}/{file_id}/metadata/{namespace}", "outputs", dict)
