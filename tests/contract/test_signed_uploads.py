"""Signed URLs for uploads: Google and Azure, whose servers are not here, by the form of the URL."""

import base64
import subprocess
from datetime import timedelta
from urllib.parse import parse_qs, urlsplit

import pytest

from framekiln.kit.canonical_json import canonical_json
from framekiln.storage.errors import BucketCredentialsInvalid
from framekiln.storage.signed_uploads import AzureContainer, Bucket, GcsBucket, sign_upload

HOUR = timedelta(hours=1)


def test_an_azure_url_allows_writing_one_blob() -> None:
    bucket = AzureContainer("account", "films", base64.b64encode(b"k" * 32).decode())
    parts = urlsplit(sign_upload(bucket, "made/a b.mp4", lifetime=HOUR))
    assert (parts.scheme, parts.netloc) == ("https", "account.blob.core.windows.net")
    assert parts.path == "/films/made/a%20b.mp4"
    query = parse_qs(parts.query)
    assert (query["sp"], query["sr"]) == (["w"], ["b"])


def test_a_google_url_is_signed_with_the_key_of_the_account() -> None:
    pem = subprocess.run(
        ["openssl", "genpkey", "-algorithm", "RSA"], check=True, capture_output=True, text=True
    ).stdout
    key = canonical_json(
        {
            "type": "service_account",
            "client_email": "kiln@films.iam.gserviceaccount.com",
            "private_key": pem,
            "private_key_id": "1",
        }
    ).decode()
    parts = urlsplit(sign_upload(GcsBucket("films", key), "a.mp4", lifetime=HOUR))
    assert (parts.netloc, parts.path) == ("storage.googleapis.com", "/films/a.mp4")
    query = parse_qs(parts.query)
    assert query["X-Goog-Algorithm"] == ["GOOG4-RSA-SHA256"]
    assert query["X-Goog-Credential"][0].startswith("kiln@films.iam.gserviceaccount.com/")
    assert len(bytes.fromhex(query["X-Goog-Signature"][0])) == 256


@pytest.mark.parametrize(
    "bucket", [AzureContainer("account", "films", "%secret%"), GcsBucket("films", '{"secret": 1}')]
)
def test_credentials_of_a_wrong_form_are_refused_without_showing_them(bucket: Bucket) -> None:
    with pytest.raises(BucketCredentialsInvalid) as caught:
        sign_upload(bucket, "a.mp4", lifetime=HOUR)
    assert "secret" not in caught.value.message
