"""/api/v1/pipeline-callbacks: where endpoints report the result of accepted work (spec 4.7).

The address itself is the secret, so no API key is needed.
"""

import asyncio
import json
from typing import Any, Final

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field

from framekiln.api.auth import services_of
from framekiln.api.bodies import json_body, read_bytes
from framekiln.api.errors import MalformedJson
from framekiln.api.v1.pipeline_bodies import Instant
from framekiln.kit.clock import iso
from framekiln.kit.errors import TooLarge
from framekiln.kit.json_scan import MAX_PLAIN_VALUES, TooManyValues, load_json, scan_json
from framekiln.pipelines.endpoints.attempt_result import MAX_RESPONSE_BYTES
from framekiln.pipelines.endpoints.callbacks import CallbackBody, read_callback

router = APIRouter(prefix="/api/v1", tags=["pipelines"])

# Outputs of models have long lists of numbers, which the parser interrupts.
_MAX_PLAIN_VALUES: Final = 2 * MAX_PLAIN_VALUES


class CallbackRecorded(BaseModel):
    """The response to a callback."""

    deadline_at: Instant | None = Field(
        description="The deadline of the next callback; null when none is expected."
    )


@router.post(
    "/pipeline-callbacks/{callback_id}",
    openapi_extra=json_body(CallbackBody, names_unknown=False),
    summary="Report the result of a step",
)
async def receive_callback(request: Request, callback_id: str) -> CallbackRecorded:
    """Record a heartbeat, a result or a failure of work that an endpoint accepted."""
    callbacks = services_of(request).pipelines.callbacks
    # Before the body is read: anybody may send one.
    attempt = await callbacks.find(callback_id)
    try:
        raw = await read_bytes(request, max_bytes=MAX_RESPONSE_BYTES)
        value = await asyncio.to_thread(_parse, raw or b"{}")
    except TooLarge as error:
        await callbacks.refuse_too_large(attempt, error)
    except RecursionError:
        await callbacks.refuse_too_deep(attempt)
    deadline_at = await callbacks.receive(attempt, read_callback(value))
    return CallbackRecorded(deadline_at=iso(deadline_at))


def _parse(raw: bytes) -> Any:
    """Return the body as plain values. Invalid outputs are passed on: they must fail the step."""
    try:
        scan_json(raw, max_plain_values=_MAX_PLAIN_VALUES)
        return load_json(raw.decode(json.detect_encoding(raw), "surrogatepass"))
    except TooManyValues as error:
        raise TooLarge(f"the body {error}", limit_values=error.max_values) from error
    except ValueError as error:
        raise MalformedJson(f"the body is not JSON: {error}"[:200]) from error
