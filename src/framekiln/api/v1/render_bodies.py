"""Request and response bodies of renders (spec 2.5, 4.3)."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Final, Literal
from uuid import UUID

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from framekiln.api.bodies import LongText
from framekiln.api.unknown_fields import RequestBody
from framekiln.api.v1.numbers import NUMBER, WHOLE
from framekiln.composition.render_preset import RenderPreset
from framekiln.engine.film_bounds import MAX_DURATION_MS, MAX_SIDE_PX
from framekiln.engine.film_plan import DEFAULT_SLICE_MS
from framekiln.kit.clock import iso
from framekiln.kit.errors import InvalidInput
from framekiln.kit.suggestions import nearest_name
from framekiln.media.images.still_formats import JpegFormat, PngFormat, WebpFormat
from framekiln.renders.events import render_summary
from framekiln.renders.model import Render, RenderRequest, RenderStatus, SourceKind
from framekiln.renders.output import MP4, FilmFormat, OutputFormat
from framekiln.timeline import exact_rate

Instant = Annotated[str, Field(json_schema_extra={"format": "date-time"})]
Percent = Annotated[int, Field(ge=1, le=100), WHOLE]
_MAX_METADATA: Final = 16 << 10
Side = Annotated[int, Field(ge=2, le=MAX_SIDE_PX), WHOLE]


def _known_preset(value: Any) -> Any:
    names = [preset.value for preset in RenderPreset]
    if value is None:
        return RenderPreset.STANDARD
    if value in names:
        return value
    near = nearest_name(value, names) if isinstance(value, str) else None
    hint = f"; did you mean {near}?" if near else ""
    raise PydanticCustomError("preset", f"must be one of {', '.join(names)}{hint}")


def _bounded_metadata(value: dict[str, str]) -> dict[str, str]:
    if sum(len(name.encode()) + len(text.encode()) for name, text in value.items()) > _MAX_METADATA:
        raise PydanticCustomError("metadata", f"must have at most {_MAX_METADATA} bytes")
    return value


Preset = Annotated[
    RenderPreset,
    BeforeValidator(_known_preset),
    WithJsonSchema({"enum": [*RenderPreset, None], "type": ["string", "null"]}),
]


class VideoCodec(BaseModel):
    """`output.video`."""

    codec: Literal["h264"] = "h264"


class AudioCodec(BaseModel):
    """`output.audio`."""

    codec: Literal["aac"] = "aac"


class RenderOutput(BaseModel):
    """`output`: which fields count depends on the container."""

    container: Literal["mp4", "jpeg", "png", "webp"] = "mp4"
    video: VideoCodec = VideoCodec()
    audio: AudioCodec = AudioCodec()
    quality: Percent = 80
    compression: Annotated[int, Field(ge=0, le=100), WHOLE] | None = None
    transparency: Annotated[bool, Field(strict=True)] = False

    def as_format(self, preset: RenderPreset) -> OutputFormat:
        """Return the output format; stills have no preset."""
        match self.container:
            case "mp4":
                return FilmFormat(MP4.container, preset)
            case "jpeg":
                return JpegFormat(quality=self.quality)
            case "png":
                return PngFormat(
                    compression=self._compression(1, 100, default=80),
                    transparency=self.transparency,
                )
            case "webp":
                return WebpFormat(
                    quality=self.quality,
                    compression=self._compression(0, 6, default=4),
                    transparency=self.transparency,
                )

    def _compression(self, least: int, most: int, *, default: int) -> int:
        value = default if self.compression is None else self.compression
        if not least <= value <= most:
            raise InvalidInput(
                f"output.compression of {self.container} must be {least} to {most}, not {value}",
                field="output.compression",
            )
        return value


_MP4_OUTPUT: Final = RenderOutput()


class CreateRender(RequestBody):
    """The body of POST /api/v1/renders."""

    EXTRA_FIELDS = frozenset({"backend", "strategy"})

    html: LongText | None = None
    width: Side | None = None
    height: Side | None = None
    fps: Annotated[float, Field(ge=1, le=120), NUMBER] | None = None
    duration_ms: Annotated[int, Field(ge=0, le=MAX_DURATION_MS), WHOLE] | None = None
    output: RenderOutput | None = None
    preset: Preset = RenderPreset.STANDARD
    data: dict[str, Any] | None = None
    metadata: Annotated[
        dict[str, Annotated[str, Field(strict=True)]],
        AfterValidator(_bounded_metadata),
        BeforeValidator(lambda value: {} if value is None else value),
    ] = Field(default_factory=dict, json_schema_extra={"type": ["object", "null"]})
    md5: Annotated[str, Field(max_length=64)] | None = None
    work_slice_ms: Annotated[int, Field(ge=1000, le=60_000), WHOLE] = DEFAULT_SLICE_MS
    expires_at: Annotated[
        Any, Field(json_schema_extra={"type": ["string", "null"], "format": "date-time"})
    ] = None
    destinations: Annotated[
        Any,
        Field(
            json_schema_extra={"type": ["array", "null"], "items": {"type": "object"}},
            description="Where the output is copied to.",
        ),
    ] = None

    def as_request(
        self, *, expires_at: datetime | None, warnings: Sequence[str] = ()
    ) -> RenderRequest:
        """Return the request, or raise when a field does not fit the output format."""
        output = (self.output or _MP4_OUTPUT).as_format(self.preset)
        if isinstance(output, FilmFormat):
            self._check_mp4()
        return RenderRequest(
            source_kind=SourceKind.BUNDLE if self.html is None else SourceKind.HTML,
            width_px=self.width,
            height_px=self.height,
            fps=None if self.fps is None else exact_rate(self.fps),
            duration_ms=self.duration_ms,
            output=output,
            metadata=self.metadata,
            md5=self.md5,
            slice_ms=self.work_slice_ms,
            expires_at=expires_at,
            warnings=tuple(warnings),
        )

    def _check_mp4(self) -> None:
        for name, side in (("width", self.width), ("height", self.height)):
            if side is not None and side % 2:
                raise InvalidInput(
                    f"{name} {side} is odd: H.264 in 4:2:0 needs even sizes", field=name
                )
        if self.duration_ms == 0:
            raise InvalidInput("duration_ms of an MP4 must be at least 1", field="duration_ms")


class CreatedRender(BaseModel):
    """The response of POST /api/v1/renders."""

    id: UUID
    md5: str | None
    status: RenderStatus
    metadata: dict[str, str]
    expires_at: Instant | None
    warnings: list[str]
    """Fields of the request without effect; later also warnings of the render itself."""

    @classmethod
    def of(cls, render: Render) -> "CreatedRender":
        """Return the response to the creation of a render."""
        request = render.request
        return cls(
            id=render.id,
            md5=request.md5,
            status=render.status,
            metadata=request.metadata,
            expires_at=iso(request.expires_at),
            warnings=render.warnings,
        )


class RenderError(BaseModel):
    """Why a render failed."""

    code: str
    message: str


class RenderInfo(CreatedRender):
    """The response of GET /api/v1/renders/:id."""

    fps: float | None
    width: int | None
    height: int | None
    duration_ms: int | None
    byte_size: int | None
    created_at: Instant
    completed_at: Instant | None
    failed_at: Instant | None
    download_url: str | None
    error: RenderError | None
    source: SourceKind = Field(
        description="What it is made from: a page (html, bundle), a video (layers) or a file whose"
        " annotations a pipeline hides (redaction)."
    )
    warning_codes: list[str] = Field(
        description="The code of each of `warnings`, in the same order."
    )
    missing_confinement: list[str] = Field(
        description="What was missing to confine pages and media when it was made; usually empty."
    )
    destinations: list[dict[str, Any]] = Field(description="Copies of the output.")

    @classmethod
    def describe(
        cls, render: Render, *, base_url: str, destinations: list[dict[str, Any]]
    ) -> "RenderInfo":
        """Return the facts of the output, or the requested ones until it is complete."""
        summary = render_summary(render, base_url=base_url)
        summary["duration_ms"] = (render.result or render.request).duration_ms
        return cls(
            **summary,
            source=render.request.source_kind,
            warnings=render.warnings,
            warning_codes=render.warning_codes,
            missing_confinement=render.missing_confinement,
            destinations=destinations,
        )
