"""Single frames: of finished videos from their film, of others from a still of the config.

Workers make a still like any render, with the same compositor. This module waits for the still, and
deletes it after the response.
"""

import asyncio
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Final

from framekiln.composition.layers import ConfigFinding, InvalidConfig
from framekiln.composition.layers.config_json import read_stored_config
from framekiln.composition.layers.values import Extension
from framekiln.db.pool import Database
from framekiln.identity.model import Caller
from framekiln.jobs.failures import Failure
from framekiln.kit.confined.budget import children_of
from framekiln.kit.confined.job_folders import open_job_folders
from framekiln.kit.confined.limits import ResourceLimits
from framekiln.kit.confined.run import run_confined
from framekiln.kit.errors import InvalidInput
from framekiln.kit.ids import OrganizationId
from framekiln.media.images.still_formats import StillFormat
from framekiln.renders.model import Render, render_prefix
from framekiln.renders.output import FilmFormat, media_type_of
from framekiln.renders.service import Renders
from framekiln.storage.blob_store import BlobStore
from framekiln.storage.errors import BlobNotFound
from framekiln.storage.keys import TrackedKey
from framekiln.videos.accepted_config import AcceptedConfig, as_frame_config, output_format
from framekiln.videos.errors import FrameFailed, FrameTookTooLong
from framekiln.videos.failures import leading_path
from framekiln.videos.model import NewVideo, Video

MAX_TIME_S: Final = 3600
_MADE_WITHIN_S: Final = 30.0
_POLL_S: Final = 5.0
_THUMBNAIL_PX: Final = 640
_THUMBNAIL_AT_S: Final = 1
_FILM_FRAME_TASK: Final = "framekiln.videos.film_frame:film_frame_task"
_PICTURE: Final = "picture"
_LIMITS: Final = ResourceLimits(cpu_s=120, memory_bytes=2 << 30, file_bytes=512 << 20, wall_s=60)


@dataclass(frozen=True)
class EncodedFrame:
    """One encoded image."""

    data: bytes
    media_type: str


@dataclass(frozen=True)
class FrameRequest:
    """The time of a frame, and its format."""

    time_s: Fraction
    extension: Extension
    name: str = "t"
    """What the caller calls the time, for messages."""


@dataclass(frozen=True)
class Frames:
    """Frames of videos and of configs that are not stored."""

    database: Database
    renders: Renders
    blobs: BlobStore

    async def from_film(self, video: Video, request: FrameRequest) -> EncodedFrame:
        """Return the frame of a finished film at an instant."""
        made = video.render.result
        assert made is not None, "it is a finished one"
        if request.time_s * 1000 > made.duration_ms:
            raise _out_of_film(made.duration_ms, name=request.name)
        format_ = output_format(request.extension)
        assert not isinstance(format_, FilmFormat)
        size = made.width_px, made.height_px
        data = await self._picture(video.render, request.time_s, size, format_)
        return EncodedFrame(data, media_type_of(format_))

    async def poster(self, video: Video, extension: Extension) -> EncodedFrame:
        """Return the frame in the middle of a finished film; it is cached."""
        render, made = video.render, video.render.result
        assert made is not None, "it is a finished one"
        prefix = render_prefix(render.organization_id, render.id)
        key = TrackedKey(f"{prefix}/poster.{extension}")
        try:
            return EncodedFrame(await self.blobs.get(key), media_type_of(output_format(extension)))
        except BlobNotFound:
            pass
        middle_s = Fraction(made.duration_ms, 2000)
        poster = await self.from_film(video, FrameRequest(middle_s, extension))
        await self.blobs.put(key, poster.data)
        return poster

    async def thumbnail(self, video: Video) -> bytes:
        """Return a small JPEG of a finished video; it is cached."""
        render, made = video.render, video.render.result
        assert made is not None, "it is a finished one"
        key = TrackedKey(f"{render_prefix(render.organization_id, render.id)}/thumbnail.jpg")
        try:
            return await self.blobs.get(key)
        except BlobNotFound:
            pass
        shrink = min(Fraction(1), Fraction(_THUMBNAIL_PX, max(made.width_px, made.height_px)))
        size = max(1, round(made.width_px * shrink)), max(1, round(made.height_px * shrink))
        at_s = min(Fraction(_THUMBNAIL_AT_S), Fraction(made.duration_ms, 2000))
        format_ = output_format(Extension.JPG)
        assert not isinstance(format_, FilmFormat)
        data = await self._picture(render, at_s, size, format_)
        await self.blobs.put(key, data)
        return data

    async def from_video(self, caller: Caller, video: Video, request: FrameRequest) -> EncodedFrame:
        """Return a frame of a video that is not finished yet."""
        read = await asyncio.to_thread(read_stored_config, video.record.config)
        new = NewVideo(video.record.config, video.record.digest, {}, ())
        return await self.from_config(
            caller, AcceptedConfig(read, new, video.render.request.output), request
        )

    async def from_config(
        self, caller: Caller, accepted: AcceptedConfig, request: FrameRequest
    ) -> EncodedFrame:
        """Return a frame of a config, as it would be in its film."""
        duration_s = accepted.config.duration_s
        if duration_s is not None and request.time_s > duration_s:
            raise _out_of_film(round(duration_s * 1000))
        still = as_frame_config(accepted, request.extension, time_s=request.time_s)
        render = await self.renders.create_from_layers(
            caller, still.new.config, digest=still.new.digest, output=still.output
        )
        try:
            made = await self._wait_until_ended(caller.organization.id, render)
            assert made.result is not None
            data = await self.blobs.get(made.result.output_key)
            return EncodedFrame(data, media_type_of(still.output))
        finally:
            await asyncio.shield(self._discard(render))

    async def _wait_until_ended(self, organization_id: OrganizationId, render: Render) -> Render:
        try:
            async with asyncio.timeout(_MADE_WITHIN_S), self.renders.follow(render.id) as follower:
                while True:
                    current = await self.renders.get(organization_id, render.id)
                    if current.failure is not None:
                        raise _failed(current.failure)
                    if current.status.is_terminal:
                        return current
                    await follower.wait(_POLL_S)
        except TimeoutError as error:
            message = f"no worker made the picture within {_MADE_WITHIN_S:g} s: try again"
            raise FrameTookTooLong(message) from error

    async def _discard(self, render: Render) -> None:
        async with self.database.transaction() as connection:
            is_over = await self.renders.discard(connection, render)
        if is_over:
            await self.renders.delete_blobs(render)

    async def _picture(
        self, render: Render, time_s: Fraction, size: tuple[int, int], format_: StillFormat
    ) -> bytes:
        assert render.result is not None
        with open_job_folders("frame") as place, children_of(str(render.organization_id)):
            await self.blobs.get_to_read(render.result.output_key, place.source)
            args = {
                "source": str(place.source),
                "time_s": str(time_s),
                "size": size,
                "format": type(format_).__name__,
                "options": asdict(format_),
                "out": _PICTURE,
            }
            await run_confined(
                _FILM_FRAME_TASK,
                args,
                limits=_LIMITS,
                folder=place.folder,
                readable=[place.source],
            )
            return await asyncio.to_thread((place.folder / _PICTURE).read_bytes)


def _out_of_film(duration_ms: int, *, name: str = "t") -> InvalidInput:
    return InvalidInput(
        f"{name}: must be at most {duration_ms / 1000:g}, the duration of the film in seconds",
        field=name,
    )


def _failed(failure: Failure) -> FrameFailed | InvalidConfig:
    """Return the error of a still; an error in the config becomes `InvalidConfig`."""
    path = leading_path(failure.message)
    if path is None:
        return FrameFailed(failure.message, reason=failure.code)
    message = failure.message.removeprefix(f"{path}: ")
    return InvalidConfig([ConfigFinding(path, failure.code, message)])
