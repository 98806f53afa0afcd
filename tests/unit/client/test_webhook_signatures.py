"""Messages to webhooks are checked against their secret and their age."""

from datetime import UTC, datetime, timedelta

import pytest
from standardwebhooks import Webhook

from framekiln.client import verify_webhook
from framekiln.client.errors import WrongSignature
from framekiln.kit.clock import SystemClock

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
BODY = b'{"topic": "render.completed"}'


def headers(sent_at: datetime | None = None, body: bytes = BODY) -> dict[str, str]:
    at = sent_at or SystemClock().now()
    signature = Webhook(SECRET).sign("msg_1", at.astimezone(UTC), body.decode())
    return {
        "Webhook-Id": "msg_1",
        "Webhook-Timestamp": str(int(at.timestamp())),
        "Webhook-Signature": f"v1,AAAA {signature}",
    }


def test_a_signed_message_returns_its_event() -> None:
    assert verify_webhook(SECRET, headers(), BODY) == {"topic": "render.completed"}


@pytest.mark.parametrize(
    ("given", "body"),
    [
        (headers(), BODY + b" "),
        ({**headers(), "Webhook-Id": "msg_2"}, BODY),
        ({**headers(), "Webhook-Signature": ""}, BODY),
        ({**headers(), "Webhook-Timestamp": "now"}, BODY),
        (headers(SystemClock().now() - timedelta(hours=1)), BODY),
        (headers(body=b"[]"), b"[]"),
        ({}, BODY),
    ],
)
def test_other_messages_are_refused(given: dict[str, str], body: bytes) -> None:
    with pytest.raises(WrongSignature):
        verify_webhook(SECRET, given, body)


def test_another_secret_is_refused() -> None:
    with pytest.raises(WrongSignature, match="not signed with this secret"):
        verify_webhook("whsec_c29tZXRoaW5nIGVsc2U=", headers(), BODY)
