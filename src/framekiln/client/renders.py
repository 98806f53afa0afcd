"""Renders on the service: create them, wait for them, download the output."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from framekiln.client.model import RemoteRender
from framekiln.client.operations import (
    Connection_co,
    Items,
    RemotePart,
    Send,
    Steps,
    listing,
    operation,
)
from framekiln.client.responses import OnFraction

_RENDERS: Final = "/api/v1/renders"


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
        """Write the output to a local file, which appears complete or not at all."""
        yield from self._save(f"{_RENDERS}/{render_id}.mp4", path)

    @operation
    def delete(self, render_id: str) -> Steps[None]:
        """Delete a render and its output; refused while it is rendered."""
        # Without retries: after a deletion, a second attempt gets an error.
        yield Send("DELETE", f"{_RENDERS}/{render_id}")
