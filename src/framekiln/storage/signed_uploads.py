"""Signed URLs for uploads to buckets of callers. Nothing is sent here.

obstore takes what is missing from the environment, where the operator's own credentials are. So
everything is given, and the host of the result is compared.
"""

from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from obstore import sign
from obstore.exceptions import BaseError
from obstore.store import AzureStore, GCSStore, S3Store

from framekiln.storage.errors import BucketCredentialsInvalid

if TYPE_CHECKING:
    from obstore.store import S3Credential


@dataclass(frozen=True)
class S3Bucket:
    """A bucket of Amazon S3, or of a server with the same interface."""

    bucket: str
    region: str
    endpoint: str
    access_key_id: str
    secret_access_key: str = field(repr=False)
    session_token: str | None = field(default=None, repr=False)


@dataclass(frozen=True)
class GcsBucket:
    """A bucket of Google Cloud Storage; the key is the JSON of a service account."""

    bucket: str
    service_account_key: str = field(repr=False)


@dataclass(frozen=True)
class AzureContainer:
    """A container of Azure Blob Storage."""

    account: str
    container: str
    account_key: str = field(repr=False)


Bucket = S3Bucket | GcsBucket | AzureContainer


def sign_upload(bucket: Bucket, key: str, *, lifetime: timedelta) -> str:
    """Return a URL that accepts one PUT; raise `BucketCredentialsInvalid`."""
    try:
        url, host = _sign(bucket, key, lifetime)
    except (BaseError, ValueError, TypeError) as error:
        # The text of the error may have parts of a key in it.
        raise BucketCredentialsInvalid(
            "the credentials have a wrong form: copy them again from the provider"
        ) from error
    if urlsplit(url).netloc != host:
        raise BucketCredentialsInvalid(
            f"the storage settings of this service do not allow uploads to {host}: ask the operator"
        )
    return url


def _sign(bucket: Bucket, key: str, lifetime: timedelta) -> tuple[str, str]:
    """Return the URL, and the host that it must have."""
    if isinstance(bucket, S3Bucket):
        credentials: S3Credential = {
            "access_key_id": bucket.access_key_id,
            "secret_access_key": bucket.secret_access_key,
            "token": bucket.session_token,
            "expires_at": None,
        }
        s3 = S3Store(
            bucket.bucket,
            region=bucket.region,
            endpoint=bucket.endpoint,
            virtual_hosted_style_request=False,
            skip_signature=False,
            # Instead of keys: otherwise the session token of the environment would be added.
            credential_provider=lambda: credentials,
        )
        return sign(s3, "PUT", key, lifetime), urlsplit(bucket.endpoint).netloc
    if isinstance(bucket, GcsBucket):
        gcs = GCSStore(bucket.bucket, service_account_key=bucket.service_account_key)
        return sign(gcs, "PUT", key, lifetime), "storage.googleapis.com"
    azure = AzureStore(
        bucket.container, account_name=bucket.account, account_key=bucket.account_key
    )
    return sign(azure, "PUT", key, lifetime), f"{bucket.account}.blob.core.windows.net"
