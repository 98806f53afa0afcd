"""A render: what was asked for, where it stands, what came of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from fractions import Fraction
from typing import Any, Final
from uuid import UUID

from framekiln.engine.slices import DEFAULT_SLICE_MS, FilmSlice
from framekiln.jobs.failures import Failure
from framekiln.kit.canonical_json import canonical_json
from framekiln.kit.errors import Conflict, NotFound
from framekiln.kit.ids import ApiKeyId, FileId, OrganizationId, RenderId
from framekiln.renders.output import MP4, OutputFormat, container_of


class SourceKind(StrEnum):
    """What a render's composition is."""

    HTML = "html"
    BUNDLE = "bundle"
    LAYERS = "layers"
    """The layer config of a v2 video, as canonical JSON."""
    REDACTION = "redaction"
    """A file of the organization, and what must not be seen or heard in it, as canonical JSON."""


class RenderStatus(StrEnum):
    """Where a render stands (spec 3.1)."""

    CREATED = "created"
    QUEUED = "queued"
    RENDERING = "rendering"
    RECOVERING = "recovering"
    COMPLETE = "complete"
    FAILED = "failed"

    @property
    def is_terminal(self) -> bool:
        """Whether nothing more will happen to it."""
        return self in (RenderStatus.COMPLETE, RenderStatus.FAILED)

    @property
    def is_active(self) -> bool:
        """Whether workers are, or soon will be, busy with it."""
        return self in (RenderStatus.QUEUED, RenderStatus.RENDERING, RenderStatus.RECOVERING)


# The one table of allowed changes. A worker that takes a render over from a dead one makes it
# `recovering`, and its first frame makes it `rendering` again.
CHANGES: dict[RenderStatus, frozenset[RenderStatus]] = {
    RenderStatus.CREATED: frozenset(
        {
            RenderStatus.QUEUED,
            RenderStatus.RENDERING,
            # Its output was uploaded.
            RenderStatus.COMPLETE,
            RenderStatus.FAILED,
        }
    ),
    RenderStatus.QUEUED: frozenset({RenderStatus.RENDERING, RenderStatus.FAILED}),
    RenderStatus.RENDERING: frozenset(
        {RenderStatus.RECOVERING, RenderStatus.COMPLETE, RenderStatus.FAILED}
    ),
    RenderStatus.RECOVERING: frozenset(
        {
            RenderStatus.RENDERING,
            RenderStatus.RECOVERING,
            RenderStatus.COMPLETE,
            RenderStatus.FAILED,
        }
    ),
    RenderStatus.COMPLETE: frozenset(),
    RenderStatus.FAILED: frozenset(),
}


def states_before(after: RenderStatus) -> list[str]:
    """Return the states from which `after` may be entered, for the guard of an update."""
    return [str(state) for state, changes in CHANGES.items() if after in changes]


@dataclass(frozen=True)
class RenderOptions:
    """What the caller wants; None means: as the composition says."""

    width_px: int | None = None
    height_px: int | None = None
    fps: Fraction | None = None
    duration_ms: int | None = None


@dataclass(frozen=True)
class NewRender:
    """A render about to be created."""

    html: str | None
    """None means: a bundle will be uploaded, unless there are `layers` or a `redaction`."""
    options: RenderOptions
    layers: Mapping[str, Any] | None = None
    """A layer config in its normal form."""
    redaction: Mapping[str, Any] | None = None
    """An order to redact a file; see `redacting.py`."""
    source_digest: str | None = None
    """Of the layers: equal ones look and sound alike."""
    data: str | None = None
    """What the page finds as its render data, as JSON; see `engine/page/render_data.py`."""
    output: OutputFormat = MP4
    metadata: dict[str, str] = field(default_factory=dict)
    md5: str | None = None
    slice_ms: int = DEFAULT_SLICE_MS
    expires_at: datetime | None = None
    warnings: tuple[str, ...] = ()
    """What was noticed about the request itself."""

    @property
    def source_kind(self) -> SourceKind:
        """What the composition is."""
        if self.redaction is not None:
            return SourceKind.REDACTION
        if self.layers is not None:
            return SourceKind.LAYERS
        return SourceKind.BUNDLE if self.html is None else SourceKind.HTML

    @property
    def source(self) -> bytes | None:
        """The composition as it is kept; None while it is still to be uploaded."""
        plain = self.layers if self.redaction is None else self.redaction
        if plain is not None:
            return canonical_json(plain)
        return None if self.html is None else self.html.encode()


@dataclass(frozen=True)
class RenderResult:
    """What a finished render is."""

    width_px: int
    height_px: int
    fps: Fraction
    duration_ms: int
    output_key: str
    byte_size: int
    record: dict[str, Any]
    """How it was made: grabbing, fallbacks, sandbox, warnings."""


@dataclass(frozen=True)
class Render:
    """One render, as stored."""

    id: RenderId
    organization_id: OrganizationId
    api_key_id: ApiKeyId | None
    status: RenderStatus
    source_key: str
    source_kind: SourceKind
    source_digest: str | None
    is_bundle: bool
    options: RenderOptions
    output: OutputFormat
    metadata: dict[str, str]
    md5: str | None
    slice_ms: int
    plan: dict[str, Any] | None
    """What the page said it is, once it was planned; see `plan.py`."""
    sound_key: str | None
    result: RenderResult | None
    failure: Failure | None
    created_at: datetime
    completed_at: datetime | None
    failed_at: datetime | None
    expires_at: datetime | None
    sound_digest: str | None = None
    """Of the mixed sound, once it is there; see `engine/digests.py`."""
    data_key: str | None = None
    """Where the render data of its page is kept, if it has any."""
    request_warnings: tuple[str, ...] = ()
    """What was noticed about the request; `made` has what was noticed about the composition."""

    @property
    def warnings(self) -> list[str]:
        """What its owner should know: of the request, and how it ended either way."""
        noticed = self.result.record.get("warnings", ()) if self.result else ()
        if self.failure is not None:
            noticed = self.failure.warnings
        return [*self.request_warnings, *noticed]


@dataclass(frozen=True)
class RenderProgress:
    """How far a render is."""

    status: RenderStatus
    frames_done: int
    frame_count: int
    failure: Failure | None

    @property
    def fraction(self) -> float:
        """From 0 to 1; 1 only when the output can be fetched."""
        if self.status is RenderStatus.COMPLETE:
            return 1.0
        return min(0.99, self.frames_done / self.frame_count) if self.frame_count else 0.0


CANCELLED: Final = Failure("cancelled", "it was deleted before it was made")


class RenderNotFound(NotFound):
    """No such render in this organization."""

    code = "render_not_found"


class RenderNotComplete(Conflict):
    """The output was asked for before it was there."""

    code = "render_not_complete"


class RenderIsActive(Conflict):
    """Deleted or uploaded to while workers are busy with it."""

    code = "render_is_active"


class RenderHasComposition(Conflict):
    """A bundle was uploaded to a render that has its composition already."""

    code = "render_has_composition"


def render_prefix(organization: OrganizationId, render: RenderId) -> str:
    """Return where everything of a render is kept."""
    return f"org/{organization}/renders/{render}"


def source_key(organization: OrganizationId, render: RenderId, *, is_bundle: bool) -> str:
    """Return where the composition of a render is kept."""
    name = "bundle.tar.gz" if is_bundle else "composition.html"
    return f"{render_prefix(organization, render)}/{name}"


def layers_key(organization: OrganizationId, render: RenderId) -> str:
    """Return where the composition of a render is kept that is a layer config."""
    return f"{render_prefix(organization, render)}/layers.json"


def redaction_key(organization: OrganizationId, render: RenderId) -> str:
    """Return where the order of a render is kept that redacts a file."""
    return f"{render_prefix(organization, render)}/redaction.json"


def data_key(organization: OrganizationId, render: RenderId) -> str:
    """Return where the render data of a page is kept."""
    return f"{render_prefix(organization, render)}/data.json"


def slice_key(render: Render, *, number: int, fence: int) -> str:
    """Return where a slice goes; a worker that takes it over has another key."""
    return f"{_prefix(render)}/slices/{number}-{fence}.mp4"


def sound_key(render: Render, *, job_id: int, attempt: int) -> str:
    """Return where the mixed sound goes; another job or attempt has another key."""
    return f"{_prefix(render)}/sound-{job_id}-{attempt}.mp4"


def output_key(render: Render, *, attempt: int) -> str:
    """Return where this attempt's output goes; another attempt has another key."""
    return f"{_prefix(render)}/output-{attempt}.{container_of(render.output)}"


def copied_output_key(render: Render, *, attempt: int) -> str:
    """Return where a copy of another render's output goes: never where one is made."""
    return f"{_prefix(render)}/again-{attempt}.{container_of(render.output)}"


def _prefix(render: Render) -> str:
    return render_prefix(render.organization_id, render.id)


def progress_topic(render: RenderId) -> str:
    """Return what followers of a render's progress listen for."""
    return f"render:{render}"


@dataclass(frozen=True)
class Redaction:
    """An order as it is kept with its render, and handed on to who carries it out.

    A box has `start_ms`, `end_ms` and `keyframes` (`t_ms`, `x`, `y`, `w`, `h`), a mute `start_ms`
    and `end_ms`.
    """

    file_id: FileId
    boxes: Sequence[Mapping[str, Any]]
    mutes: Sequence[Mapping[str, Any]]

    def to_json(self) -> dict[str, Any]:
        """Return the order as it is kept."""
        return {
            "file_id": str(self.file_id),
            "boxes": [dict(box) for box in self.boxes],
            "mutes": [dict(mute) for mute in self.mutes],
        }

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> "Redaction":
        """Read what `to_json` wrote."""
        return cls(FileId(UUID(kept["file_id"])), kept["boxes"], kept["mutes"])


@dataclass(frozen=True)
class TakenRenderSlice:
    """A slice in the hands of one worker."""

    render_id: RenderId
    slice: FilmSlice
    fence: int
    digest: str | None = None
    """What it will be made of, if equal ones can be told."""


@dataclass(frozen=True)
class FinishedSlice:
    """A finished slice."""

    number: int
    blob_key: str
    record: dict[str, Any]
