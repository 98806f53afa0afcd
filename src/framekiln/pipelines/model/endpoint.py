"""Endpoints, the attempts to have steps done by them, and the secrets in callback URLs.

An endpoint is an HTTP service of the owner that does steps. It never changes.
"""

import base64
import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from framekiln.jobs.failures import Failure
from framekiln.kit.ids import OrganizationId
from framekiln.pipelines.definition.windows import Window
from framekiln.pipelines.errors import EndpointNotFound
from framekiln.pipelines.model.pipeline import AttemptId, EndpointId, RunId, StepRunId
from framekiln.pipelines.model.run import TakenUnit, UnitKey


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """One endpoint, as stored. Its headers may be secret."""

    id: EndpointId
    position: int = 0
    """Set by the database."""
    organization_id: OrganizationId
    url: str
    headers: Mapping[str, str] = field(repr=False)
    timeout_ms: int
    callback_timeout_ms: int
    max_concurrency: int
    signing_secret: str = field(repr=False)
    created_at: datetime
    archived_at: datetime | None = None

    def callback_deadline(self, since: datetime) -> datetime:
        """Return the deadline for the next callback after one at `since`."""
        return since + timedelta(milliseconds=self.callback_timeout_ms)

    def callback_id(self, attempt_id: AttemptId) -> str:
        """Return the secret in the callback URL of an attempt.

        It is computed, so that an attempt that is sent twice has one URL although only its hash is
        stored: the endpoint may call back to the URL of either request.
        """
        key = self.signing_secret.encode()
        digest = hmac.new(key, b"callback:" + attempt_id.bytes, hashlib.sha256).digest()
        return base64.urlsafe_b64encode(digest).decode().rstrip("=")


class AttemptState(StrEnum):
    """The state of an attempt."""

    WAITING = "waiting"
    """For its due time, or for a slot."""
    SENDING = "sending"
    """It has a slot: its job is queued or running."""
    AWAITING_CALLBACK = "awaiting_callback"
    DONE = "done"


@dataclass(frozen=True, kw_only=True)
class EndpointAttempt:
    """One attempt of an endpoint step, as stored."""

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
class AttemptTimes:
    """When an attempt waited, was sent and ended."""

    step_key: str
    window_number: int | None
    number: int
    state: str
    created_at: datetime
    sent_at: datetime | None
    ended_at: datetime | None


def archived_failure(endpoint_id: EndpointId) -> Failure:
    """Return the failure of a step whose endpoint was archived."""
    return Failure(EndpointNotFound.code, f"endpoint {endpoint_id} was archived")


def hash_callback_id(callback: str) -> bytes:
    """Return the hash of a callback secret, as stored."""
    return hashlib.sha256(callback.encode("utf-8", "surrogatepass")).digest()
