"""What the service says of pipelines and their runs, as values."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Self

from framekiln.client.answer import Answer, told_as

_UNENDED: Final = frozenset({"pending", "running"})


@dataclass(frozen=True, kw_only=True)
class RemotePipeline(Answer):
    """A pipeline on the service."""

    id: str
    name: str
    latest_version: int
    archived_at: str | None
    warnings: tuple[Mapping[str, str], ...] = told_as(read=tuple, default=())
    """What may not be meant in its definition: `path`, `code`, `message`; told when it is new."""


@dataclass(frozen=True, kw_only=True)
class RemoteVersion(Answer):
    """One definition of a pipeline."""

    pipeline_id: str
    number: int = told_as("version")
    digest: str
    created_at: str
    warnings: tuple[Mapping[str, str], ...] = told_as(read=tuple, default=())
    """What may not be meant in the definition: `path`, `code`, `message`; told when it is sent."""

    @property
    def definition(self) -> Mapping[str, Any]:
        """Its steps, in normal form."""
        found: Mapping[str, Any] = self.told["definition"]
        return found

    @property
    def needs(self) -> dict[str, list[str]]:
        """Which steps each step comes after."""
        return {key: list(step["needs"]) for key, step in self.definition["steps"].items()}


@dataclass(frozen=True, kw_only=True)
class RemoteEndpoint(Answer):
    """A service of the caller's that steps ask; `signing_secret` is there once, when it is new."""

    id: str
    url: str
    archived_at: str | None
    signing_secret: str | None = field(default=None, repr=False)


@dataclass(frozen=True, kw_only=True)
class RemoteStep(Answer):
    """A step of a run."""

    key: str = told_as("step_key")
    type: str
    status: str
    attempt: int
    error: Mapping[str, str] | None
    started_at: str | None
    completed_at: str | None


def _steps(told: list[Mapping[str, Any]]) -> tuple[RemoteStep, ...]:
    return tuple(RemoteStep.of(step) for step in told)


@dataclass(frozen=True, kw_only=True)
class RemoteRun(Answer):
    """A run of a pipeline over a file; each step comes after those it needs."""

    id: str
    status: str
    pipeline_id: str
    pipeline_version: int
    file_id: str
    error: Mapping[str, Any] | None
    steps: tuple[RemoteStep, ...] = told_as(read=_steps)

    @property
    def has_ended(self) -> bool:
        """Whether nothing more happens by itself."""
        return self.status not in _UNENDED


@dataclass(frozen=True, kw_only=True)
class RemoteBatch(Answer):
    """One pipeline over many files."""

    id: str
    status: str

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> Self:
        """Read an answer, which may have everything once more under `batch`."""
        return super().of(told.get("batch", told))


@dataclass(frozen=True, kw_only=True)
class RemoteReview(Answer):
    """A task for a person."""

    id: str
    run_id: str
    step_key: str
    status: str
