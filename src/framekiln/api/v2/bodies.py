"""The responses of v2 about videos and templates: the specified fields, ours only where needed.

Fields that are not there are left out, never null: clients test whether they are present.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field

from framekiln.api.v2.pages import ListLinks, ListMeta
from framekiln.kit.warning_text import UNKNOWN_CODE, WarningText
from framekiln.videos.failures import video_failure
from framekiln.videos.model import Video
from framekiln.videos.templates.model import TemplateSource, TemplateSummary, TemplateVersion

MICROSECONDS = "%Y-%m-%dT%H:%M:%S.%fZ"

_PATH_FIRST: Final = re.compile(r"(layers\.\d+(?:\.\w+)*): (.+)", re.DOTALL)


class VideoError(BaseModel):
    """Why a video failed; `layer` and `path` when it is the fault of a layer."""

    code: str
    message: str
    layer: str | None = None
    path: str | None = None


class VideoSummary(BaseModel):
    """A video in the response of a template."""

    id: str
    is_failed: bool
    is_ready: bool
    metadata: dict[str, Any]


class VideoInfo(VideoSummary):
    """A video (spec 2.3). Addresses and duration are there once it is ready."""

    model_config = ConfigDict(
        json_schema_extra=lambda schema: schema["required"].extend(["progress", "timestamp"])
    )

    progress: float = Field(default=0, description="From 0 to 1; 1 only when it can be downloaded.")
    download_url: str = ""
    stream_url: str = ""
    thumbnail_url: str = ""
    poster_url: str = ""
    duration: float = 0
    timestamp: int = Field(default=0, description="When it was created, in Unix seconds.")
    template_id: str = ""
    template_version: int = 0
    error: VideoError | None = None
    warnings: list[dict[str, str]] = []
    missing_confinement: list[str] = Field(
        default=[], description="What was missing to confine pages and media when it was made."
    )
    destinations: list[dict[str, Any]] = Field(default=[], description="Copies of the output.")


class CreatedVideo(BaseModel):
    """The answer to whoever asks for a video."""

    id: str
    timestamp: int
    status: str
    metadata: dict[str, Any]
    warnings: list[dict[str, str]] = []


class VideoList(BaseModel):
    """A page of videos."""

    data: list[VideoInfo]
    links: ListLinks
    meta: ListMeta


class TemplateInfo(BaseModel):
    """A template (spec 2.2); `parsed_config` is empty but in the answer of a render."""

    id: str
    name: str
    created_at: str
    version: int
    parsed_config: dict[str, Any]


class TemplateDestination(BaseModel):
    """Where videos of a template are copied to, without credentials."""

    type: str
    address: str


class TemplateDetails(TemplateInfo):
    """A template with its destinations, which are there if it has some."""

    destinations: list[TemplateDestination] = []


class TemplateAnswer(BaseModel):
    """One template."""

    data: TemplateDetails
    warnings: list[dict[str, str]] = []


class TemplateList(BaseModel):
    """A page of templates."""

    data: list[TemplateInfo]
    links: ListLinks
    meta: ListMeta


class TemplateVersionInfo(BaseModel):
    """One version of a template."""

    version: int
    name: str
    created_at: str


class TemplateSourceInfo(TemplateVersionInfo):
    """One version of a template with its content, as it was sent."""

    config: dict[str, Any]
    inputs: dict[str, Any] = Field(description="Rules by the names of inputs.")
    default_values: dict[str, Any]


class TemplateSourceAnswer(BaseModel):
    """The content of a version."""

    data: TemplateSourceInfo


class CheckedTemplateInfo(BaseModel):
    """A template that is not stored."""

    data_schema: dict[str, Any] = Field(
        serialization_alias="schema", description="The JSON Schema of its data."
    )
    parsed_config: dict[str, Any] = Field(
        description="The config filled with the data; empty if there were none."
    )


class CheckedTemplateAnswer(BaseModel):
    """What became of a template that is not stored."""

    data: CheckedTemplateInfo
    warnings: list[dict[str, str]] = []


class TemplateVersionList(BaseModel):
    """A page of the versions of a template."""

    data: list[TemplateVersionInfo]
    links: ListLinks
    meta: ListMeta


class RenderedData(BaseModel):
    """A template filled with data, and the video that is made of it."""

    template: TemplateInfo
    video: VideoSummary


class RenderedTemplateAnswer(BaseModel):
    """The answer of a template's render."""

    data: RenderedData
    warnings: list[dict[str, str]] = []


class Deleted(BaseModel):
    """The answer of a deletion."""

    deleted: bool


def video_summary(video: Video) -> VideoSummary:
    """Describe a video by the four fields that are always there."""
    return VideoSummary(**_always(video))


def video_info(
    video: Video, base_url: str, *, destinations: Sequence[dict[str, Any]] = ()
) -> VideoInfo:
    """Describe a video."""
    fields = _always(video) | {"progress": round(video.progress, 4)}
    if video.render.result is not None:
        address = f"{base_url}/v2/videos/{video.id}"
        fields |= {"download_url": f"{address}/download", "thumbnail_url": f"{address}/thumbnail"}
        if video.is_streamable:
            fields["stream_url"] = f"{address}/stream"
        if video.is_film:
            fields["poster_url"] = f"{address}/poster"
            fields["duration"] = video.render.result.duration_ms / 1000
    fields["timestamp"] = int(video.record.created_at.timestamp())
    origin = {
        "template_id": video.record.template_id,
        "template_version": video.record.template_version,
    }
    fields |= {name: value for name, value in origin.items() if value is not None}
    failure = video_failure(video)
    if failure is not None:
        where = {"layer": failure.layer_id, "path": failure.path}
        known = {name: value for name, value in where.items() if value is not None}
        fields["error"] = VideoError(code=failure.code, message=failure.message, **known)
    if warnings := _warnings(video):
        fields["warnings"] = warnings
    if missing := video.render.missing_confinement:
        fields["missing_confinement"] = missing
    if destinations:
        fields["destinations"] = list(destinations)
    return VideoInfo(**fields)


def created_video(video: Video) -> CreatedVideo:
    """Return the response for a video; one that was made before gets the same."""
    extra = {"warnings": list(video.record.warnings)} if video.record.warnings else {}
    return CreatedVideo(
        id=video.id,
        timestamp=int(video.record.created_at.timestamp()),
        status="processing",
        metadata=dict(video.record.metadata),
        **extra,
    )


def template_info(template: TemplateSummary, parsed: dict[str, Any] | None = None) -> TemplateInfo:
    """Describe a template."""
    return TemplateInfo(
        id=template.id,
        name=template.name,
        created_at=iso_microseconds(template.created_at),
        version=template.version,
        parsed_config=parsed or {},
    )


def template_version_info(version: TemplateVersion) -> TemplateVersionInfo:
    """Describe a version of a template."""
    return TemplateVersionInfo(
        version=version.number,
        name=version.name,
        created_at=iso_microseconds(version.created_at),
    )


def template_source_info(source: TemplateSource) -> TemplateSourceInfo:
    """Describe a version of a template and its content."""
    return TemplateSourceInfo(
        **template_version_info(source.version).model_dump(),
        config=dict(source.config),
        inputs=dict(source.inputs),
        default_values=dict(source.default_values),
    )


def iso_microseconds(at: datetime) -> str:
    """Return a time as v2 writes it: to the microsecond, with a Z."""
    return at.astimezone(UTC).strftime(MICROSECONDS)


def _always(video: Video) -> dict[str, Any]:
    return {
        "id": video.id,
        "is_failed": video.is_failed,
        "is_ready": video.is_ready,
        "metadata": dict(video.record.metadata),
    }


def _warnings(video: Video) -> list[dict[str, str]]:
    """Return what was noticed while reading the config, and then while making the film."""
    read = [dict(each) for each in video.record.warnings]
    findings = (video.render.plan or {}).get("findings", {})
    return [*read, *(render_warning(each, findings) for each in video.render.warnings)]


def render_warning(text: str, findings: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """Return a warning of a render, which is a text that may begin with the path of a field.

    Of those in `findings`, which were found when the film was planned, more is known.
    """
    if text in findings:
        return dict(findings[text])
    found = _PATH_FIRST.fullmatch(text)
    path, message = ("", text) if found is None else found.groups()
    code = text.code if isinstance(text, WarningText) else UNKNOWN_CODE
    return {"path": path, "code": code, "message": message}
