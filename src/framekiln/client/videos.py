"""Videos and templates on the service (v2): layer configs become videos."""

import json
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final, Literal

from framekiln.client.errors import EndedBadly
from framekiln.client.model import RemoteTemplate, RemoteVideo
from framekiln.client.operations import (
    Connection_co,
    Items,
    RemotePart,
    Send,
    Steps,
    listing,
    operation,
)
from framekiln.client.responses import Json, OnFraction
from framekiln.client.uploads import open_local

_VIDEOS: Final = "/v2/videos"
_TEMPLATES: Final = "/v2/templates"

FrameFormat = Literal["jpg", "png", "webp"]
Destinations = Sequence[Mapping[str, Any]] | None
"""Where copies are sent; None for those of the template."""


class RemoteVideos(RemotePart[Connection_co]):
    """The videos of an organization."""

    @operation
    def create(
        self,
        config: Mapping[str, Any],
        *,
        metadata: Mapping[str, Any] | None = None,
        destinations: Destinations = None,
        files: Mapping[str, Path] | None = None,
    ) -> Steps[RemoteVideo]:
        """Create a video from a layer config; `files` has local files by the ids of layers."""
        body = {"config": dict(config), "metadata": None if metadata is None else dict(metadata)}
        body |= destinations_body(destinations)
        # Without retries: a second attempt could create a second video.
        if not files:
            made = yield from self._read_once("POST", f"{_VIDEOS}/new", json=body)
        else:
            made = yield from self._create_with_files(body, files)
        return RemoteVideo.of((yield from self._read("GET", f"{_VIDEOS}/{made['id']}")))

    @operation
    def get(self, video_id: str) -> Steps[RemoteVideo]:
        """Return a video."""
        return RemoteVideo.of((yield from self._read("GET", f"{_VIDEOS}/{video_id}")))

    @listing
    def list(self) -> Items[RemoteVideo]:
        """Yield videos, newest first."""
        return self._numbered_items(_VIDEOS, RemoteVideo.of)

    @operation
    def wait(self, video_id: str, on_fraction: OnFraction = lambda _: None) -> Steps[RemoteVideo]:
        """Return a video when it is ready, or raise `EndedBadly` with the reason."""
        path = f"{_VIDEOS}/{video_id}"
        ended: EndedBadly | None = None
        try:
            yield from self._follow(f"{path}/progress", on_fraction)
        except EndedBadly as error:
            ended = error
        video = RemoteVideo.of((yield from self._read("GET", path)))
        if video.error is not None:
            # It also says which layer is wrong, and where.
            reason = dict(video.error)
            code, message = reason.pop("code"), reason.pop("message")
            raise EndedBadly(f"{code}: {message}", error=code, **reason)
        if ended is not None:
            raise ended
        return video

    @operation
    def download(self, video_id: str, path: Path) -> Steps[None]:
        """Write the video to a local file, which appears complete or not at all."""
        yield from self._save(f"{_VIDEOS}/{video_id}/download", path)

    @operation
    def delete(self, video_id: str) -> Steps[None]:
        """Delete a video; one that is being rendered is stopped."""
        # Without retries: after a deletion, a second attempt gets an error.
        yield Send("DELETE", f"{_VIDEOS}/{video_id}")

    @operation
    def plan(self, config: Mapping[str, Any]) -> Steps[Json]:
        """Check a config and its sources; return the timeline, and render nothing."""
        return (yield from self._read("POST", f"{_VIDEOS}/plan", json={"config": dict(config)}))

    @operation
    def draw_frame(
        self, config: Mapping[str, Any], time_s: float = 0, image_format: FrameFormat = "png"
    ) -> Steps[bytes]:
        """Return one picture of a config; nothing is stored."""
        body = {"config": dict(config), "t": time_s, "format": image_format}
        return (yield from self._request("POST", f"{_VIDEOS}/frame", json=body)).content

    @operation
    def frame(
        self, video_id: str, time_s: float = 0, image_format: FrameFormat = "png"
    ) -> Steps[bytes]:
        """Return one picture of a video."""
        query = {"t": time_s, "format": image_format}
        path = f"{_VIDEOS}/{video_id}/frame"
        return (yield from self._request("GET", path, params=query)).content

    def _create_with_files(self, body: Json, files: Mapping[str, Path]) -> Steps[Json]:
        fields = {name: json.dumps(value) for name, value in body.items() if value is not None}
        with ExitStack() as stack:
            parts = {
                f"file{layer}": (path.name, stack.enter_context(open_local(path)))
                for layer, path in files.items()
            }
            return (yield from self._read_once("POST", _VIDEOS, data=fields, files=parts))


class RemoteTemplates(RemotePart[Connection_co]):
    """The templates of an organization."""

    @operation
    def create(
        self,
        name: str,
        config: Mapping[str, Any],
        *,
        inputs: Mapping[str, Any] | None = None,
        default_values: Mapping[str, Any] | None = None,
        destinations: Destinations = None,
    ) -> Steps[RemoteTemplate]:
        """Store a layer config with named inputs; see its `warnings`."""
        body = _template_body(name, config, inputs, default_values)
        body |= destinations_body(destinations)
        # Without retries: a second attempt could store it twice.
        return _template((yield from self._read_once("POST", _TEMPLATES, json=body)))

    @operation
    def update(
        self,
        template_id: str,
        name: str,
        config: Mapping[str, Any],
        *,
        inputs: Mapping[str, Any] | None = None,
        default_values: Mapping[str, Any] | None = None,
        destinations: Destinations = None,
    ) -> Steps[RemoteTemplate]:
        """Make the next version of a template; earlier ones are kept."""
        body = _template_body(name, config, inputs, default_values)
        body |= destinations_body(destinations)
        # Without retries: a second attempt could make a second version.
        path = f"{_TEMPLATES}/{template_id}"
        return _template((yield from self._read_once("PUT", path, json=body)))

    @operation
    def get(self, template_id: str) -> Steps[RemoteTemplate]:
        """Return a template."""
        raw = yield from self._read("GET", f"{_TEMPLATES}/{template_id}")
        return RemoteTemplate.of(raw["data"])

    @listing
    def list(self) -> Items[RemoteTemplate]:
        """Yield templates, newest first."""
        return self._numbered_items(_TEMPLATES, RemoteTemplate.of)

    @operation
    def schema(self, template_id: str) -> Steps[Json]:
        """Return the JSON Schema of the data of a template."""
        return (yield from self._read("GET", f"{_TEMPLATES}/{template_id}/schema"))

    @operation
    def render(
        self, template_id: str, data: Mapping[str, Any], *, destinations: Destinations = None
    ) -> Steps[RemoteVideo]:
        """Fill a template with data and create the video."""
        # Without retries: a second attempt could create a second video.
        path = f"{_TEMPLATES}/{template_id}/render"
        body = {"data": dict(data)} | destinations_body(destinations)
        raw = yield from self._read_once("POST", path, json=body)
        return RemoteVideo.of({"warnings": raw.get("warnings", []), **raw["data"]["video"]})

    @operation
    def delete(self, template_id: str) -> Steps[None]:
        """Delete a template; its videos are kept."""
        # Without retries: after a deletion, a second attempt gets an error.
        yield Send("DELETE", f"{_TEMPLATES}/{template_id}")


def destinations_body(destinations: Destinations) -> Json:
    """Return the field `destinations` of a request, if there are any to name."""
    if destinations is None:
        return {}
    return {"destinations": [dict(each) for each in destinations]}


def _template_body(
    name: str,
    config: Mapping[str, Any],
    inputs: Mapping[str, Any] | None,
    default_values: Mapping[str, Any] | None,
) -> Json:
    return {
        "name": name,
        "config": dict(config),
        "inputs": dict(inputs or {}),
        "default_values": dict(default_values or {}),
    }


def _template(raw: Json) -> RemoteTemplate:
    return RemoteTemplate.of({**raw["data"], "warnings": raw.get("warnings", [])})
