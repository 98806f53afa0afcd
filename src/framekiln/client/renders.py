"""Renders on the service: create them, wait for them, download the output."""

from collections.abc import Mapping
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, Final

from framekiln.client.connection import OnFraction, ServiceConnection, follow_progress, json_object
from framekiln.client.model import RemoteRender

_RENDERS: Final = "/api/v1/renders"


class RemoteRenders:
    """The renders of an organization."""

    def __init__(self, connection: ServiceConnection) -> None:
        self._connection = connection

    def create(self, *, data: Mapping[str, Any] | None = None, **body: Any) -> RemoteRender:
        """Create a render; the fields are those of POST /api/v1/renders.

        `data` is available to the page as `window.EF_RENDER_DATA`.
        """
        if data is not None:
            body["data"] = dict(data)
        # Without retries: a second attempt could create a second render.
        return RemoteRender.of(
            json_object(self._connection.request_once("POST", _RENDERS, json=body))
        )

    def get(self, render_id: str) -> RemoteRender:
        """Return a render."""
        return RemoteRender.of(self._connection.request_json("GET", f"{_RENDERS}/{render_id}"))

    def wait(self, render_id: str, on_fraction: OnFraction = lambda _: None) -> RemoteRender:
        """Return a render when it is complete, or raise `EndedBadly` with the reason."""
        follow_progress(self._connection, f"{_RENDERS}/{render_id}/progress", on_fraction)
        return self.get(render_id)

    def download(self, render_id: str, path: Path) -> None:
        """Write the output to a local file, which appears complete or not at all."""
        for attempt in self._connection.retries():
            with attempt:
                self._download(f"{_RENDERS}/{render_id}.mp4", path)
                return

    def _download(self, address: str, path: Path) -> None:
        with (
            self._connection.stream(address) as answer,
            NamedTemporaryFile(dir=path.absolute().parent, prefix=f".{path.name}.") as beside,
        ):
            for chunk in answer.iter_bytes():
                beside.write(chunk)
            beside.flush()
            whole = Path(f"{beside.name}.whole")
            whole.hardlink_to(beside.name)
            whole.chmod(0o644)
            whole.replace(path)
