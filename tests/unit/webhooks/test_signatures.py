"""Signatures: what other people's verifiers accept, and when."""

import base64
from datetime import UTC, datetime, timedelta, timezone

import pytest
from standardwebhooks import Webhook, WebhookVerificationError

from framekiln.kit.clock import SystemClock
from framekiln.webhooks.signatures import body_signature, new_secret, standard_headers

BODY = '{"topic":"webhook.test","data":{}}'


def test_a_secret_is_a_prefix_and_32_random_bytes() -> None:
    secret = new_secret()
    assert secret.startswith("whsec_")
    assert len(base64.b64decode(secret.removeprefix("whsec_"), validate=True)) == 32
    assert new_secret() != secret


def test_the_body_is_signed_with_the_text_of_the_secret() -> None:
    # Made with: printf '%s' BODY | openssl dgst -sha256 -hmac whsec_c2VjcmV0
    expected = "0f178e55724927e72886b280f011dac38e4c8cc0dc346c3e1b30b48b1cd9bb50"
    assert body_signature(BODY, "whsec_c2VjcmV0") == expected


def test_a_standard_signature_is_what_the_standard_says() -> None:
    # Made with openssl from the id, the time and the body, keyed with the bytes `secret`.
    now = datetime(2025, 1, 1, 12, tzinfo=UTC)
    headers = standard_headers(BODY, message_id="msg", now=now, keys=["whsec_c2VjcmV0"])
    assert headers == {
        "webhook-id": "msg",
        "webhook-timestamp": "1735732800",
        "webhook-signature": "v1,Ii+zbd6FSTmLpnI8yLSn14fyA89QrWZ1gAVrsEewiT4=",
    }
    elsewhere = now.astimezone(timezone(timedelta(hours=5)))
    assert headers == standard_headers(
        BODY, message_id="msg", now=elsewhere, keys=["whsec_c2VjcmV0"]
    )


def test_a_verifier_accepts_ours_and_nothing_else() -> None:
    old, new, now = new_secret(), new_secret(), SystemClock().now()
    headers = standard_headers(BODY, message_id="msg", now=now, keys=[new, old])
    for secret in (new, old):
        assert Webhook(secret).verify(BODY, headers) == {"topic": "webhook.test", "data": {}}
    for changed in (
        {**headers, "webhook-id": "other"},
        {**headers, "webhook-timestamp": str(int(now.timestamp()) + 1)},
        {**headers, "webhook-signature": "v1,AAAA"},
    ):
        with pytest.raises(WebhookVerificationError):
            Webhook(new).verify(BODY, changed)
    stale = standard_headers(BODY, message_id="msg", now=now - timedelta(seconds=310), keys=[new])
    with pytest.raises(WebhookVerificationError, match="too old"):
        Webhook(new).verify(BODY, stale)
