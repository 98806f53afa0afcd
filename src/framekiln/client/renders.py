"""Renders on the service: create them, wait for them, download the output."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from framekiln.client.bundles import bundle_bytes
from framekiln.client.errors import ServiceRefused
from framekiln.client.model import RemoteRender
from framekiln.client.operations import (
    Connection_co,
    Items,
    RemotePart,
    Send,
    Steps,
    Work,
    listing,
    operation,
)
from framekiln.client.responses import Json, OnFraction

_RENDERS: Final = "/api/v1/renders"
_NOT_FOUND: Final = 404


class RemoteRenders(RemotePart[Connection_co]):
    """The renders of an organization."""

    @operation
    def create(
        self, /, *, data: Mapping[str, Any] | None = None, **body: Any
    ) -> Steps[RemoteRender]:
        """Create a render; the fields are those of POST /api/v1/renders.

        `data` is available to the page as `window.EF_RENDER_DATA`.
        """
        if data is not None:
            body["data"] = dict(data)
        # Without retries: a second attempt could create a second render.
        return RemoteRender.of((yield from self._read_once("POST", _RENDERS, json=body)))

    @operation
    def create_from_bundle(
        self, /, path: Path, *, data: Mapping[str, Any] | None = None, **body: Any
    ) -> Steps[RemoteRender]:
        """Create a render of a local folder with an index.html, or of a .tar.gz or .zip of one."""
        # Before the render, so that none waits for a folder that cannot be read.
        content = yield Work(lambda: bundle_bytes(path))
        if data is not None:
            body["data"] = dict(data)
        raw = yield from self._read_once("POST", _RENDERS, json=body)
        yield from self._upload(raw["id"], content)
        return RemoteRender.of((yield from self._read("GET", f"{_RENDERS}/{raw['id']}")))

    @operation
    def upload_bundle(self, render_id: str, path: Path) -> Steps[RemoteRender]:
        """Upload the page of a render that was created without HTML, and start it.

        `path` is a folder, a bundle, or an MP4 that becomes the output itself.
        """
        yield from self._upload(render_id, (yield Work(lambda: bundle_bytes(path))))
        return RemoteRender.of((yield from self._read("GET", f"{_RENDERS}/{render_id}")))

    def _upload(self, render_id: str, content: bytes) -> Steps[None]:
        # Without retries: a render takes one bundle.
        headers = {"Content-Type": "application/octet-stream"}
        path = f"{_RENDERS}/{render_id}/upload"
        yield Send("POST", path, {"content": content, "headers": headers})

    @operation
    def by_md5(self, md5: str) -> Steps[RemoteRender | None]:
        """Return the newest render that was created with this MD5, if there is one."""
        try:
            return RemoteRender.of((yield from self._read("GET", f"{_RENDERS}/md5/{md5}")))
        except ServiceRefused as error:
            if error.details["status"] == _NOT_FOUND:
                return None
            raise

    @operation
    def source(self, render_id: str) -> Steps[str]:
        """Return the HTML of a render."""
        return (yield from self._request("GET", f"{_RENDERS}/{render_id}/source")).text

    @operation
    def request(self, render_id: str) -> Steps[Json]:
        """Return what a render was asked to be: size, rate, length, output, data."""
        return (yield from self._read("GET", f"{_RENDERS}/{render_id}/request"))

    @operation
    def slices(self, render_id: str) -> Steps[tuple[Json, ...]]:
        """Return the slices of a render, each with its progress, method, times and console."""
        raw = yield from self._read("GET", f"{_RENDERS}/{render_id}/slices")
        return tuple(raw["slices"])

    @operation
    def repeat(self, render_id: str) -> Steps[RemoteRender]:
        """Create a render with the composition, data and settings of another."""
        # Without retries: a second attempt could create a second render.
        path = f"{_RENDERS}/{render_id}/again"
        return RemoteRender.of((yield from self._read_once("POST", path)))

    @operation
    def get(self, render_id: str) -> Steps[RemoteRender]:
        """Return a render."""
        return RemoteRender.of((yield from self._read("GET", f"{_RENDERS}/{render_id}")))

    @listing
    def list(self, *, status: str | None = None) -> Items[RemoteRender]:
        """Yield renders of pages, newest first."""
        return self._items(_RENDERS, "renders", RemoteRender.of, status=status)

    @operation
    def wait(self, render_id: str, on_fraction: OnFraction = lambda _: None) -> Steps[RemoteRender]:
        """Return a render when it is complete, or raise `EndedBadly` with the reason."""
        yield from self._follow(f"{_RENDERS}/{render_id}/progress", on_fraction)
        return RemoteRender.of((yield from self._read("GET", f"{_RENDERS}/{render_id}")))

    @operation
    def download(self, render_id: str, path: Path) -> Steps[None]:
        """Write the film or still to a local file, which appears complete or not at all."""
        yield from self._save(f"{_RENDERS}/{render_id}.mp4", path)

    @operation
    def delete(self, render_id: str) -> Steps[None]:
        """Delete a render and its output; refused while it is rendered."""
        # Without retries: after a deletion, a second attempt gets an error.
        yield Send("DELETE", f"{_RENDERS}/{render_id}")
