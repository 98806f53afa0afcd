"""Forms of v2 that would take long to decode are refused before they are decoded."""

import json

import pytest

from framekiln.api.v2.forms import MAX_PERCENT_ESCAPES
from tests.support.app import AppHarness
from tests.support.videos import VIDEOS, plain_config

BOUNDARY = "b"


def multipart(**fields: str) -> bytes:
    parts = [
        f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{text}\r\n'
        for name, text in fields.items()
    ]
    return "".join([*parts, f"--{BOUNDARY}--\r\n"]).encode()


@pytest.mark.parametrize("charset", ["punycode", "idna", "unicode_escape", "utf-16", "x" * 1000])
async def test_a_multipart_body_in_another_charset_is_refused(
    app: AppHarness, charset: str
) -> None:
    """Python needs four seconds for 128 KiB of punycode, and 16 times as long for 512."""
    kind = f"multipart/form-data; boundary={BOUNDARY}; charset={charset}"
    body = multipart(config=json.dumps(plain_config()))
    answer = await app.client.post(VIDEOS, content=body, headers={"Content-Type": kind})
    assert answer.status_code == 422
    assert f"the charset '{charset[:40]}' is not allowed" in answer.json()["message"]


@pytest.mark.parametrize("charset", ["UTF-8", '"utf8"', "us-ascii"])
async def test_a_multipart_body_may_name_its_charset(app: AppHarness, charset: str) -> None:
    kind = f"multipart/form-data; boundary={BOUNDARY}; charset={charset}"
    body = multipart(config=json.dumps(plain_config()))
    answer = await app.client.post(VIDEOS, content=body, headers={"Content-Type": kind})
    assert answer.status_code == 201


async def test_an_urlencoded_body_with_too_many_escapes_is_refused(app: AppHarness) -> None:
    """30 MiB of them stopped the api for 22 s."""
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    body = b"config=" + b"%20" * MAX_PERCENT_ESCAPES + json.dumps(plain_config()).encode()
    assert (await app.client.post(VIDEOS, content=body, headers=headers)).status_code == 201
    answer = await app.client.post(VIDEOS, content=b"a=%20&" + body, headers=headers)
    assert answer.status_code == 413
    assert "escapes" in answer.json()["message"]
