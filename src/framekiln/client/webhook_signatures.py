"""Checks that a message to a webhook comes from the service."""

import base64
import hashlib
import hmac
import json
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final

from framekiln.client.errors import WrongSignature
from framekiln.kit.clock import Clock, SystemClock

MAX_AGE: Final = timedelta(minutes=5)
"""Older messages are refused: somebody may have recorded them."""


def verify_webhook(
    secret: str, headers: Mapping[str, str], body: bytes, *, clock: Clock | None = None
) -> dict[str, Any]:
    """Return the event in a message; raises `WrongSignature` unless it is signed and recent.

    `body` has the bytes as they arrived: JSON that was parsed and written again may differ.
    """
    lower = {name.lower(): value for name, value in headers.items()}
    sent_at = lower.get("webhook-timestamp", "")
    if not (sent_at.isascii() and sent_at.isdigit()):
        raise WrongSignature("the message has no webhook-timestamp: it is not from the service")
    age_s = (clock or SystemClock()).now().timestamp() - int(sent_at)
    if abs(age_s) > MAX_AGE.total_seconds():
        raise WrongSignature("the message was not sent within five minutes of now")
    signed = f"{lower.get('webhook-id', '')}.{sent_at}.".encode() + body
    key = base64.b64decode(secret.removeprefix("whsec_"))
    expected = "v1," + base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()
    given = lower.get("webhook-signature", "").split()
    if not any(hmac.compare_digest(expected.encode(), each.encode()) for each in given):
        raise WrongSignature("the message is not signed with this secret")
    event = json.loads(body)
    if not isinstance(event, dict):
        raise WrongSignature("the message has no JSON object")
    return event
