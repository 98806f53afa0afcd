"""Signatures of webhook messages: two, over the exact bytes that are sent.

`X-Webhook-Signature` is the plain HMAC of the body, keyed with the text of the secret. The
`webhook-*` headers are those of Standard Webhooks, keyed with the decoded secret, and also cover id
and time.
"""

import base64
import hashlib
import hmac
import secrets
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from standardwebhooks import Webhook

PREFIX: Final = "whsec_"
_SECRET_BYTES: Final = 32


def new_secret() -> str:
    """Return a new secret: a prefix that secret scanners find, and 32 random bytes."""
    return PREFIX + base64.b64encode(secrets.token_bytes(_SECRET_BYTES)).decode()


def body_signature(body: str, secret: str) -> str:
    """Return the HMAC-SHA256 of the body in hex; the key is the text of the secret."""
    return hmac.new(secret.encode(), body.encode(), hashlib.sha256).hexdigest()


def standard_headers(
    body: str, *, message_id: str, now: datetime, keys: Sequence[str]
) -> dict[str, str]:
    """Return the headers of Standard Webhooks, with a signature for each key."""
    # The library ignores the time zone of its argument.
    instant = now.astimezone(UTC)
    signatures = [Webhook(key).sign(message_id, instant, body) for key in keys]
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(int(instant.timestamp())),
        "webhook-signature": " ".join(signatures),
    }
