"""Files on the service: upload, show and delete them."""

from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from framekiln.client.connection import (
    Json,
    OnFraction,
    ServiceConnection,
    follow_progress,
    iter_items,
)
from framekiln.client.errors import ServiceRefused
from framekiln.client.model import RemoteFile
from framekiln.client.uploads import (
    OnBytes,
    begin_stream,
    file_md5,
    file_size,
    send_file,
    send_stream,
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


class RemoteFiles:
    """The files of an organization."""

    def __init__(self, connection: ServiceConnection) -> None:
        self._connection = connection

    def get(self, file_id: str) -> RemoteFile:
        """Return a file."""
        return RemoteFile.of(self._connection.request_json("GET", f"{_FILES}/{file_id}"))

    def by_md5(self, md5: str) -> RemoteFile | None:
        """Return the newest file with this MD5, if there is one."""
        try:
            return RemoteFile.of(self._connection.request_json("GET", f"{_FILES}/md5/{md5}"))
        except ServiceRefused as error:
            if error.details["status"] == _NOT_FOUND:
                return None
            raise

    def delete(self, file_id: str) -> None:
        """Delete a file and all that belongs to it."""
        self._connection.request("DELETE", f"{_FILES}/{file_id}")

    def upload(
        self,
        path: Path,
        on_progress: OnBytes = lambda _done, _all: None,
        *,
        file_type: str | None = None,
        expires_at: str | None = None,
        on_begun: OnRegistered = lambda _: None,
    ) -> RemoteFile:
        """Upload a local file, or the rest of an earlier upload; return the file afterwards.

        A file that the service already has is not sent again.
        """
        body = {
            "filename": path.name,
            "type": file_type or guess_type(path),
            "byte_size": file_size(path),
            "md5": file_md5(path),
            "expires_at": expires_at,
        }
        # Idempotent: the service finds the file again by its MD5.
        created = RemoteFile.of(self._connection.request_json("POST", _FILES, json=body))
        on_begun(created.id)
        send_file(self._connection, f"{_FILES}/{created.id}/upload", path, on_progress)
        return self.get(created.id)

    def upload_streamed(
        self,
        path: Path,
        on_progress: OnBytes = lambda _done, _all: None,
        *,
        file_id: str | None = None,
        expires_at: str | None = None,
        on_begun: OnRegistered = lambda _: None,
    ) -> RemoteFile:
        """Upload a local video as fragments and seal it; with `file_id`, resume the upload."""
        file_size(path)
        with TemporaryDirectory(prefix="framekiln-stream-") as folder:
            tracks = split_video(path, Path(folder))
            if file_id is None:
                stream = begin_stream(self._connection, path.name, tracks, expires_at)
            else:
                stream = self._connection.request_json("GET", f"{_FILES}/{file_id}/stream")
            on_begun(stream["id"])
            send_stream(self._connection, stream, tracks, on_progress)
        return self.get(stream["id"])

    def wait_ready(self, file_id: str, on_fraction: OnFraction = lambda _: None) -> RemoteFile:
        """Return a file when it is ready, or raise `EndedBadly` with the reason."""
        follow_progress(self._connection, f"{_FILES}/{file_id}/progress", on_fraction)
        return self.get(file_id)

    def namespaces(self, file_id: str) -> Iterator[Json]:
        """Yield the namespaces that pipelines have written for a file, and their last writers."""
        return iter_items(self._connection, f"{_FILES}/{file_id}/metadata", "namespaces")

    def metadata(self, file_id: str, namespace: str) -> Iterator[Json]:
        """Yield `window` and `output` of the latest entries of a namespace, in order."""
        return iter_items(self._connection, f"{_FILES}/{file_id}/metadata/{namespace}", "outputs")
