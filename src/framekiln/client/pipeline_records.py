"""What the service says of pipelines and their runs, as values; `told` has all of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Self

_UNENDED: Final = frozenset({"pending", "running"})


@dataclass(frozen=True)
class RemotePipeline:
    """A pipeline on the service."""

    id: str
    name: str
    latest_version: int
    archived_at: str | None
    told: Mapping[str, Any] = field(repr=False, compare=False)

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> Self:
        """Read an answer."""
        return cls(
            id=told["id"],
            name=told["name"],
            latest_version=told["latest_version"],
            archived_at=told["archived_at"],
            told=told,
        )


@dataclass(frozen=True)
class RemoteVersion:
    """One definition of a pipeline."""

    pipeline_id: str
    number: int
    digest: str
    created_at: str
    told: Mapping[str, Any] = field(repr=False, compare=False)

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> Self:
        """Read an answer."""
        return cls(
            pipeline_id=told["pipeline_id"],
            number=told["version"],
            digest=told["digest"],
            created_at=told["created_at"],
            told=told,
        )

    @property
    def definition(self) -> Mapping[str, Any]:
        """Its steps, in normal form."""
        found: Mapping[str, Any] = self.told["definition"]
        return found

    @property
    def needs(self) -> dict[str, list[str]]:
        """Which steps each step comes after."""
        return {key: list(step["needs"]) for key, step in self.definition["steps"].items()}


@dataclass(frozen=True)
class RemoteEndpoint:
    """A service of the caller's that steps ask; `signing_secret` is there once, when it is new."""

    id: str
    url: str
    archived_at: str | None
    signing_secret: str | None = field(repr=False)
    told: Mapping[str, Any] = field(repr=False, compare=False)

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> Self:
        """Read an answer."""
        return cls(
            id=told["id"],
            url=told["url"],
            archived_at=told["archived_at"],
            signing_secret=told.get("signing_secret"),
            told=told,
        )


@dataclass(frozen=True)
class RemoteStep:
    """A step of a run."""

    key: str
    type: str
    status: str
    attempt: int
    error: Mapping[str, str] | None
    started_at: str | None
    completed_at: str | None

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> Self:
        """Read a part of an answer."""
        return cls(
            key=told["step_key"],
            type=told["type"],
            status=told["status"],
            attempt=told["attempt"],
            error=told["error"],
            started_at=told["started_at"],
            completed_at=told["completed_at"],
        )


@dataclass(frozen=True)
class RemoteRun:
    """A run of a pipeline over a file; each step comes after those it needs."""

    id: str
    status: str
    pipeline_id: str
    pipeline_version: int
    file_id: str
    error: Mapping[str, Any] | None
    steps: tuple[RemoteStep, ...]
    told: Mapping[str, Any] = field(repr=False, compare=False)

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> Self:
        """Read an answer."""
        return cls(
            id=told["id"],
            status=told["status"],
            pipeline_id=told["pipeline_id"],
            pipeline_version=told["pipeline_version"],
            file_id=told["file_id"],
            error=told["error"],
            steps=tuple(RemoteStep.of(step) for step in told["steps"]),
            told=told,
        )

    @property
    def has_ended(self) -> bool:
        """Whether nothing more happens by itself."""
        return self.status not in _UNENDED


@dataclass(frozen=True)
class RemoteBatch:
    """One pipeline over many files."""

    id: str
    status: str
    told: Mapping[str, Any] = field(repr=False, compare=False)

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> Self:
        """Read an answer, which may have everything once more under `batch`."""
        return cls(id=told["id"], status=told["status"], told=told.get("batch", told))


@dataclass(frozen=True)
class RemoteReview:
    """A task for a person."""

    id: str
    run_id: str
    step_key: str
    status: str
    told: Mapping[str, Any] = field(repr=False, compare=False)

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> Self:
        """Read an answer."""
        return cls(
            id=told["id"],
            run_id=told["run_id"],
            step_key=told["step_key"],
            status=told["status"],
            told=told,
        )
