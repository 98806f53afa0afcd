"""A render: its request, its state and its result."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from fractions import Fraction
from typing import Any, Final
from uuid import UUID

from framekiln.engine.film_plan import DEFAULT_SLICE_MS, FilmSlice
from framekiln.jobs.failures import Failure
from framekiln.kit.ids import ApiKeyId, FileId, OrganizationId, RenderId
from framekiln.kit.warning_text import UNKNOWN_CODE, WarningText, codes_by_text, warnings_from_json
from framekiln.renders.output import MP4, OutputFormat, container_of
from framekiln.storage.keys import NewKey, TrackedKey, new_key


class SourceKind(StrEnum):
    """What a render is made from."""

    HTML = "html"
    BUNDLE = "bundle"
    LAYERS = "layers"
    """The layer config of a v2 video, as canonical JSON."""
    REDACTION = "redaction"
    """A `Redaction`, as canonical JSON."""


class RenderStatus(StrEnum):
    """The state of a render (spec 3.1)."""

    CREATED = "created"
    QUEUED = "queued"
    RENDERING = "rendering"
    RECOVERING = "recovering"
    COMPLETE = "complete"
    FAILED = "failed"

    @property
    def is_terminal(self) -> bool:
        """Whether the render has ended."""
        return self in (RenderStatus.COMPLETE, RenderStatus.FAILED)

    @property
    def is_active(self) -> bool:
        """Whether workers render it, or soon will."""
        return self in (RenderStatus.QUEUED, RenderStatus.RENDERING, RenderStatus.RECOVERING)


# All allowed changes. A render becomes `recovering` when a worker takes over from a dead one, and
# `rendering` again with its next frame.
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
    """Return the states that may change to `after`, for the WHERE clause of an update."""
    return [str(state) for state, changes in CHANGES.items() if after in changes]


@dataclass(frozen=True)
class RenderRequest:
    """What the caller asked for, as stored with the render.

    A size, rate or length of None leaves the choice to the composition.
    """

    source_kind: SourceKind
    source_digest: str | None = None
    """Digest of a layer config: equal ones look and sound alike."""
    width_px: int | None = None
    height_px: int | None = None
    fps: Fraction | None = None
    duration_ms: int | None = None
    """Of a still: its moment."""
    output: OutputFormat = MP4
    metadata: dict[str, str] = field(default_factory=dict)
    md5: str | None = None
    slice_ms: int = DEFAULT_SLICE_MS
    expires_at: datetime | None = None
    warnings: tuple[str, ...] = ()
    """About the request itself, such as fields without effect."""


@dataclass(frozen=True)
class RenderResult:
    """The output of a completed render."""

    width_px: int
    height_px: int
    fps: Fraction
    duration_ms: int
    output_key: str
    byte_size: int
    record: dict[str, Any]
    """How it was made: a `CaptureRecord` of the whole film, as JSON."""
    md5: str | None = None
    """Of its bytes; None if an earlier version made it."""


@dataclass(frozen=True)
class Render:
    """One render, as stored."""

    id: RenderId
    organization_id: OrganizationId
    api_key_id: ApiKeyId | None
    status: RenderStatus
    request: RenderRequest
    source_key: str
    data_key: str | None
    """Where the page's render data is stored, if it has any."""
    plan: dict[str, Any] | None
    """The JSON of a `FilmPlan`, once there is one."""
    sound_key: str | None
    sound_digest: str | None
    """Digest of the mixed sound, if it can be cached."""
    has_destinations: bool
    """Whether its output is copied to destinations, for itself or for a video."""
    result: RenderResult | None
    failure: Failure | None
    created_at: datetime
    completed_at: datetime | None
    failed_at: datetime | None

    @property
    def is_bundle(self) -> bool:
        """Whether its composition is an uploaded bundle."""
        return self.request.source_kind is SourceKind.BUNDLE

    @property
    def warnings(self) -> list[str]:
        """Warnings for its owner: about the request, and about the result or the failure."""
        requested = (WarningText("unknown_field", each) for each in self.request.warnings)
        return [*requested, *self._noticed]

    @property
    def warning_codes(self) -> list[str]:
        """The codes of the warnings, in their order."""
        codes = codes_by_text(self.warnings)
        return [codes.get(each, UNKNOWN_CODE) for each in self.warnings]

    @property
    def _noticed(self) -> tuple[str, ...]:
        if self.failure is not None:
            return self.failure.warnings
        return warnings_from_json(self.result.record if self.result else None)

    @property
    def missing_confinement(self) -> list[str]:
        """What pages and media lacked to be confined when it was made; usually nothing."""
        return list(self.result.record.get("missing_confinement", ())) if self.result else []


@dataclass(frozen=True)
class FrameCounts:
    """How the frames of films were made."""

    captured: int
    composed: int
    differing_slices: int
    """Slices that were filmed because composed frames did not look like Chromium's."""
    reused_slices: int
    """Slices of films that were not reused as a whole."""


@dataclass(frozen=True)
class RenderProgress:
    """The progress of a render."""

    status: RenderStatus
    frames_done: int
    frame_count: int
    failure: Failure | None

    @property
    def fraction(self) -> float:
        """From 0 to 1, and 1 only when the output can be fetched."""
        if self.status is RenderStatus.COMPLETE:
            return 1.0
        return min(0.99, self.frames_done / self.frame_count) if self.frame_count else 0.0


CANCELLED: Final = Failure("cancelled", "it was deleted before it was made")


def render_prefix(organization: OrganizationId, render: RenderId) -> str:
    """Return the prefix of all blobs of a render."""
    return f"org/{organization}/renders/{render}"


_SOURCE_NAMES: Final = {
    SourceKind.HTML: "composition.html",
    SourceKind.BUNDLE: "bundle.tar.gz",
    SourceKind.LAYERS: "layers.json",
    SourceKind.REDACTION: "redaction.json",
}


def source_key(organization: OrganizationId, render: RenderId, kind: SourceKind) -> TrackedKey:
    """Return the key of what a new render is made from; its folder must be registered."""
    return TrackedKey(f"{render_prefix(organization, render)}/{_SOURCE_NAMES[kind]}")


def uploaded_bundle_key(render: Render) -> NewKey:
    """Return a new key for an uploaded bundle."""
    return new_key(f"{_prefix(render)}/uploads", _SOURCE_NAMES[SourceKind.BUNDLE])


def redaction_key(organization: OrganizationId, render: RenderId) -> NewKey:
    """Return a new key for the redaction of a render that may exist."""
    return new_key(render_prefix(organization, render), _SOURCE_NAMES[SourceKind.REDACTION])


def data_key(organization: OrganizationId, render: RenderId) -> TrackedKey:
    """Return the key of a page's render data."""
    return TrackedKey(f"{render_prefix(organization, render)}/data.json")


def composition_keys(
    organization: OrganizationId, render: RenderId, new: RenderRequest, *, has_data: bool
) -> tuple[TrackedKey, TrackedKey | None]:
    """Return where the composition of a new render is stored, and its data."""
    key = source_key(organization, render, new.source_kind)
    return key, data_key(organization, render) if has_data else None


def slices_prefix(render: Render) -> str:
    """Return the prefix of all slices of a render, which are deleted when they are joined."""
    return f"{_prefix(render)}/slices"


def slice_key(render: Render, number: int) -> NewKey:
    """Return a new key for a slice."""
    return new_key(slices_prefix(render), f"{number}.mp4")


def sound_key(render: Render) -> NewKey:
    """Return a new key for the mixed sound."""
    return new_key(_prefix(render), "sound.mp4")


def output_key(render: Render) -> NewKey:
    """Return a new key for the output."""
    return new_key(_prefix(render), f"output.{container_of(render.request.output)}")


def _prefix(render: Render) -> str:
    return render_prefix(render.organization_id, render.id)


def progress_topic(render: RenderId) -> str:
    """Return the notification topic of a render's progress."""
    return f"render:{render}"


@dataclass(frozen=True)
class Redaction:
    """What to hide and to mute in a file; stored as the source of its render.

    A box has `start_ms`, `end_ms` and `keyframes` (`t_ms`, `x`, `y`, `w`, `h`), a mute `start_ms`
    and `end_ms`.
    """

    file_id: FileId
    boxes: Sequence[Mapping[str, Any]]
    mutes: Sequence[Mapping[str, Any]]

    def to_json(self) -> dict[str, Any]:
        """Return the redaction as plain JSON."""
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
    """A slice that one worker has taken."""

    render_id: RenderId
    slice: FilmSlice
    fence: int
    digest: str | None = None
    """Digest of its inputs, if it can be cached."""


@dataclass(frozen=True)
class FinishedSlice:
    """A finished slice."""

    number: int
    blob_key: str
    record: dict[str, Any]


@dataclass(frozen=True)
class CopiedParts:
    """What the planner of a render has copied from the cache."""

    slices: tuple[FinishedSlice, ...] = ()
    sound_key: str | None = None

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of all copies."""
        sound = () if self.sound_key is None else (self.sound_key,)
        return (*(each.blob_key for each in self.slices), *sound)
