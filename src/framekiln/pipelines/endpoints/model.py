"""Endpoint attempts that have not ended, and the secret in a callback URL."""

import base64
import hashlib
import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from framekiln.files.model import File
from framekiln.kit.ids import OrganizationId
from framekiln.pipelines.definition.model import Definition
from framekiln.pipelines.definition.windows import Window
from framekiln.pipelines.endpoints import attempt_result
from framekiln.pipelines.endpoints.attempt_result import FinalResult, OutputRules
from framekiln.pipelines.model.pipeline import AttemptId, Endpoint, EndpointId, RunId, StepRunId
from framekiln.pipelines.model.run import Run, TakenUnit, UnitKey
from framekiln.pipelines.outputs.model import StepOutput


class AttemptState(StrEnum):
    """The state of an attempt."""

    WAITING = "waiting"
    """For its due time, or for a slot."""
    SENDING = "sending"
    """It has a slot: its job is queued or running."""
    AWAITING_CALLBACK = "awaiting_callback"
    DONE = "done"


@dataclass(frozen=True, kw_only=True)
class StoredAttempt:
    """One attempt, as stored."""

    id: AttemptId
    organization_id: OrganizationId
    run_id: RunId
    step_run_id: StepRunId
    step_key: str
    window: Window | None
    endpoint_id: EndpointId
    number: int
    state: AttemptState
    fence: int | None
    taken_by: int | None
    idempotency_key: str
    early_callback: Mapping[str, Any] | None
    due_at: datetime
    sent_at: datetime | None

    @property
    def unit_key(self) -> UnitKey:
        """The unit that it attempts."""
        return UnitKey(self.run_id, self.step_key, self.window.index if self.window else None)

    @property
    def early_result(self) -> FinalResult | None:
        """The result that was called back before the request had ended."""
        early = self.early_callback
        return (
            attempt_result.result_from_json(early["verdict"])
            if early and "verdict" in early
            else None
        )

    @property
    def last_heartbeat_at(self) -> datetime | None:
        """The last heartbeat before the request had ended, or else when it was sent."""
        early = self.early_callback
        if early and "heartbeat_at" in early:
            return datetime.fromisoformat(early["heartbeat_at"])
        return self.sent_at

    def taken_unit(self) -> TakenUnit:
        """Return its unit with the fence, which proves that the attempt is current."""
        assert self.fence is not None, "only an attempt that was taken has a fence"
        return TakenUnit(
            key=self.unit_key,
            window=self.window,
            attempt=self.number,
            fence=self.fence,
            note=None,
        )


@dataclass(frozen=True, kw_only=True)
class TakenAttempt:
    """An attempt taken by the job that sends it, with all that goes into the request."""

    attempt: StoredAttempt
    unit: TakenUnit
    endpoint: Endpoint
    run: Run
    file: File
    definition: Definition
    inputs: Mapping[str, StepOutput]
    tracks: Sequence[Mapping[str, Any]]
    """As spec 4.7 describes them."""
    frames_ms: Sequence[int]
    """The times of the sampled frames that this step may fetch."""
    sent_at: datetime

    @property
    def rules(self) -> OutputRules:
        """The rules for its output."""
        return OutputRules(self.unit.window, [track["track_id"] for track in self.tracks])


def callback_id(endpoint: Endpoint, attempt_id: AttemptId) -> str:
    """Return the secret in the callback URL.

    It is computed, so that an attempt that is sent twice has one URL although only its hash is
    stored: the endpoint may call back to the URL of either request.
    """
    key = endpoint.signing_secret.encode()
    digest = hmac.new(key, b"callback:" + attempt_id.bytes, hashlib.sha256).digest()
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")


def hash_callback_id(callback: str) -> bytes:
    """Return the hash of a callback secret, as stored."""
    return hashlib.sha256(callback.encode("utf-8", "surrogatepass")).digest()
