"""Videos and templates on the service (v2): layer configs become videos."""

import json
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final, Literal

from framekiln.client.errors import EndedBadly
from framekiln.client.model import RemoteVideo
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

FrameFormat = Literal["jpg", "png", "webp"]
PosterFormat = Literal["jpg", "webp"]
MediaKind = Literal["video", "audio", "image"]
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

    @operation
    def config(self, video_id: str) -> Steps[Json]:
        """Return the layer config of a video, with data filled in and defaults."""
        return (yield from self._read("GET", f"{_VIDEOS}/{video_id}/config"))

    @operation
    def poster(
        self,
        video_id: str,
        *,
        time_s: float | None = None,
        image_format: PosterFormat | None = None,
    ) -> Steps[bytes]:
        """Return the picture to show before a video plays, by default the one its config names."""
        query = {"at": time_s, "format": image_format}
        asked = {name: value for name, value in query.items() if value is not None}
        path = f"{_VIDEOS}/{video_id}/poster"
        return (yield from self._request("GET", path, params=asked)).content

    @operation
    def thumbnail(self, video_id: str) -> Steps[bytes]:
        """Return a small picture of a video."""
        return (yield from self._request("GET", f"{_VIDEOS}/{video_id}/thumbnail")).content

    @operation
    def playlist(self, video_id: str) -> Steps[str]:
        """Return the HLS playlist of a video; players get its URL in a link (`client.links`)."""
        return (yield from self._request("GET", f"{_VIDEOS}/{video_id}/stream")).text

    @operation
    def probe(self, source: str | Path, kind: MediaKind = "video") -> Steps[Json]:
        """Return what is in media at a URL, or in a local file, before anything is made of it."""
        path = "/v2/metadata"
        if isinstance(source, str):
            return (yield from self._read("POST", path, json={"type": kind, "url": source}))
        with open_local(source) as file:
            parts = {"file": (source.name, file)}
            return (yield from self._read_once("POST", path, data={"type": kind}, files=parts))

    def _create_with_files(self, body: Json, files: Mapping[str, Path]) -> Steps[Json]:
        fields = {name: json.dumps(value) for name, value in body.items() if value is not None}
        with ExitStack() as stack:
            parts = {
                f"file{layer}": (path.name, stack.enter_context(open_local(path)))
                for layer, path in files.items()
            }
            return (yield from self._read_once("POST", _VIDEOS, data=fields, files=parts))


def destinations_body(destinations: Destinations) -> Json:
    """Return the field `destinations` of a request, if there are any to name."""
    if destinations is None:
        return {}
    return {"destinations": [dict(each) for each in destinations]}
