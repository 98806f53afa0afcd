"""A video: a layer config, its render, and the owner's metadata."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from framekiln.kit.ids import ApiKeyId, OrganizationId, RenderId
from framekiln.renders.model import Render, RenderProgress, RenderStatus
from framekiln.renders.output import FilmFormat, is_mp4_film
from framekiln.videos.public_ids import TemplateId, VideoId

Json = Mapping[str, Any]


@dataclass(frozen=True)
class VideoRequest:
    """A request for a video; nothing in it is validated yet."""

    config: object
    metadata: object = None
    """Metadata given next to the config; it overrides that in the config."""
    uploads: Mapping[str, str] = field(default_factory=dict)
    """URLs of sources that were uploaded with the request, by layer."""
    template_id: TemplateId | None = None
    template_version: int | None = None
    is_filled_template: bool = False
    warnings: Sequence[Json] = ()
    """About fields of the request without effect."""


@dataclass(frozen=True)
class NewVideo:
    """A video to store; `config` is in its normal form."""

    config: Json
    digest: str
    metadata: Json
    warnings: Sequence[Json]
    template_id: TemplateId | None = None
    template_version: int | None = None


@dataclass(frozen=True)
class VideoRecord:
    """One video, as stored."""

    id: VideoId
    organization_id: OrganizationId
    api_key_id: ApiKeyId | None
    render_id: RenderId
    template_id: TemplateId | None
    template_version: int | None
    """None if it was not made from a template."""
    config: Json
    digest: str
    metadata: Json
    warnings: Sequence[Json]
    created_at: datetime


@dataclass(frozen=True)
class Video:
    """One video and its render, which has the status of the video."""

    record: VideoRecord
    render: Render
    render_progress: RenderProgress | None = None
    """Read only for renders that have begun and not ended."""

    @property
    def id(self) -> VideoId:
        """The video's id."""
        return self.record.id

    @property
    def is_ready(self) -> bool:
        """Whether it can be downloaded."""
        return self.render.status is RenderStatus.COMPLETE

    @property
    def is_failed(self) -> bool:
        """Whether it has failed."""
        return self.render.status is RenderStatus.FAILED

    @property
    def progress(self) -> float:
        """From 0 to 1, and 1 only when it can be downloaded."""
        if self.is_ready:
            return 1.0
        return self.render_progress.fraction if self.render_progress else 0.0

    @property
    def is_film(self) -> bool:
        """Whether it is a film; a config may also request one image."""
        return isinstance(self.render.request.output, FilmFormat)

    @property
    def is_streamable(self) -> bool:
        """Whether it can be played as HLS, which only MP4 films can."""
        return is_mp4_film(self.render.request.output)

    @property
    def filename(self) -> str:
        """Its name for downloads."""
        name = self.record.config.get("filename")
        return str(name) if name else f"{self.id}.{self.record.config['extension']}"
