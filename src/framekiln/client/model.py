"""The resources of the service as frozen values, parsed from responses by field name."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields
from typing import Any, Final, Self


def json_field(
    name: str = "", *, read: Callable[[Any], Any] | None = None, default: Any = MISSING
) -> Any:
    """Return a field with another name in the response, or one that `read` converts."""
    return field(default=default, metadata={"name": name, "read": read})


@dataclass(frozen=True, kw_only=True)
class RemoteObject:
    """The base of all values. A field with a default may be missing from the response."""

    raw: Mapping[str, Any] = field(repr=False, compare=False)
    """The whole response."""

    @classmethod
    def of(cls, raw: Mapping[str, Any]) -> Self:
        """Parse a response."""
        own = (each for each in fields(cls) if each.name != "raw")
        return cls(raw=raw, **{each.name: _value(each, raw) for each in own})


def _value(own: "Field[Any]", raw: Mapping[str, Any]) -> Any:
    name = own.metadata.get("name") or own.name
    if name not in raw and own.default is not MISSING:
        return own.default
    read = own.metadata.get("read")
    return read(raw[name]) if read else raw[name]


@dataclass(frozen=True, kw_only=True)
class RemoteFile(RemoteObject):
    """A file on the service."""

    id: str
    filename: str
    type: str
    status: str
    byte_size: int | None
    md5: str | None
    next_byte: int
    expires_at: str | None = None


@dataclass(frozen=True, kw_only=True)
class RemoteRender(RemoteObject):
    """A render on the service."""

    id: str
    status: str


@dataclass(frozen=True, kw_only=True)
class RemoteVideo(RemoteObject):
    """A video on the service."""

    id: str
    is_ready: bool
    is_failed: bool
    metadata: Mapping[str, Any]
    duration: float | None = None
    """In seconds, when it is ready and not a still."""
    progress: float | None = None
    """The fraction that is done, 0 to 1."""
    error: Mapping[str, str] | None = None
    """`code` and `message`, and `layer` and `path` if a layer is the cause."""
    warnings: tuple[Mapping[str, str], ...] = json_field(read=tuple, default=())

    @property
    def status(self) -> str:
        """`ready`, `failed` or `processing`."""
        if self.is_failed:
            return "failed"
        return "ready" if self.is_ready else "processing"


@dataclass(frozen=True, kw_only=True)
class RemoteTemplate(RemoteObject):
    """A template on the service."""

    id: str
    name: str
    created_at: str
    warnings: tuple[Mapping[str, str], ...] = json_field(read=tuple, default=())
    """Warnings about its config; only after its creation."""


@dataclass(frozen=True, kw_only=True)
class RemoteTemplateVersion(RemoteObject):
    """One version of a template; `raw` of a single one has its config."""

    number: int = json_field("version")
    name: str
    created_at: str


@dataclass(frozen=True, kw_only=True)
class RemoteBulk(RemoteObject):
    """Many videos of one template; `counts` are rows by status."""

    id: str
    status: str
    template_id: str
    row_count: int
    counts: Mapping[str, int]
    progress: float
    warnings: tuple[Mapping[str, Any], ...] = json_field(read=tuple, default=())
    """What has no effect, with `row`; only after its creation."""


@dataclass(frozen=True, kw_only=True)
class RemoteBulkRow(RemoteObject):
    """A row of a bulk: its video, or why there is none."""

    row: int
    status: str
    video_id: str | None = None
    download_url: str | None = None
    error: Mapping[str, str] | None = None


@dataclass(frozen=True, kw_only=True)
class RemoteTranscription(RemoteObject):
    """A transcription on the service."""

    id: str
    status: str | None = None


_UNENDED: Final = frozenset({"pending", "running"})


@dataclass(frozen=True, kw_only=True)
class RemotePipeline(RemoteObject):
    """A pipeline on the service."""

    id: str
    name: str
    latest_version: int
    archived_at: str | None
    warnings: tuple[Mapping[str, str], ...] = json_field(read=tuple, default=())
    """Warnings about its definition: `path`, `code`, `message`; only after its creation."""


@dataclass(frozen=True, kw_only=True)
class RemoteVersion(RemoteObject):
    """One definition of a pipeline."""

    pipeline_id: str
    number: int = json_field("version")
    digest: str
    created_at: str
    warnings: tuple[Mapping[str, str], ...] = json_field(read=tuple, default=())
    """Warnings about the definition: `path`, `code`, `message`; only after its creation."""

    @property
    def definition(self) -> Mapping[str, Any]:
        """Its steps, in normal form."""
        found: Mapping[str, Any] = self.raw["definition"]
        return found

    @property
    def needs(self) -> dict[str, list[str]]:
        """The steps that each step follows."""
        return {key: list(step["needs"]) for key, step in self.definition["steps"].items()}


@dataclass(frozen=True, kw_only=True)
class RemoteEndpoint(RemoteObject):
    """A service of the caller that runs steps; `signing_secret` is set only on creation."""

    id: str
    url: str
    archived_at: str | None
    signing_secret: str | None = field(default=None, repr=False)


@dataclass(frozen=True, kw_only=True)
class RemoteStep(RemoteObject):
    """A step of a run."""

    key: str = json_field("step_key")
    type: str
    status: str
    attempt: int
    error: Mapping[str, str] | None
    started_at: str | None
    completed_at: str | None


def _steps(raw: list[Mapping[str, Any]]) -> tuple[RemoteStep, ...]:
    return tuple(RemoteStep.of(step) for step in raw)


@dataclass(frozen=True, kw_only=True)
class RemoteRun(RemoteObject):
    """A run of a pipeline on a file; each step follows those it needs."""

    id: str
    status: str
    pipeline_id: str
    pipeline_version: int
    file_id: str
    error: Mapping[str, Any] | None
    steps: tuple[RemoteStep, ...] = json_field(read=_steps)

    @property
    def has_ended(self) -> bool:
        """Whether it has a final status."""
        return self.status not in _UNENDED


@dataclass(frozen=True, kw_only=True)
class RemoteBatch(RemoteObject):
    """One pipeline on many files."""

    id: str
    status: str

    @classmethod
    def of(cls, raw: Mapping[str, Any]) -> Self:
        """Parse a response, which may contain everything again under `batch`."""
        return super().of(raw.get("batch", raw))


@dataclass(frozen=True, kw_only=True)
class RemoteReview(RemoteObject):
    """A task for a person."""

    id: str
    run_id: str
    step_key: str
    status: str


@dataclass(frozen=True, kw_only=True)
class RemoteWebhook(RemoteObject):
    """A receiver of events; `secret` is set only on creation."""

    id: str
    url: str
    events: Sequence[str] = json_field(read=tuple)
    state: str
    reason: str | None
    secret: str | None = field(default=None, repr=False)


@dataclass(frozen=True, kw_only=True)
class RemoteLink(RemoteObject):
    """A signed link; whoever has `url` may read until it expires."""

    id: str
    url: str = field(repr=False)
    address: str
    expires_at: str
    revoked_at: str | None = None


@dataclass(frozen=True, kw_only=True)
class RemoteOrganization(RemoteObject):
    """The organization of a key; `quotas` have `used` and `limit` by name."""

    id: str
    name: str
    quotas: Mapping[str, Mapping[str, int | None]]


@dataclass(frozen=True, kw_only=True)
class RemoteDelivery(RemoteObject):
    """The delivery of one event to one webhook."""

    id: str
    webhook_id: str
    topic: str
    status: str
    attempt_count: int

    @property
    def last_error(self) -> str | None:
        """The error of the last attempt, if there was one."""
        last = self.raw["last_attempt"]
        return last["error"] if last else None
