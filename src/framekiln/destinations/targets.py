"""From the settings of a destination to the request that copies an output there."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final
from urllib.parse import urlsplit

from framekiln.destinations.model import DestinationRequest, DestinationType, with_id
from framekiln.storage.signed_uploads import (
    AzureContainer,
    Bucket,
    GcsBucket,
    S3Bucket,
    sign_upload,
)

# Longer than an upload may take.
_SIGNED_FOR: Final = timedelta(hours=2)


@dataclass(frozen=True)
class UploadTarget:
    """Where to PUT an output."""

    url: str = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)


def upload_target(request: DestinationRequest, resource_id: str) -> UploadTarget:
    """Return the request for an output; raise `BucketCredentialsInvalid`."""
    settings = request.settings
    if request.type is DestinationType.URL:
        return UploadTarget(with_id(settings["url"], resource_id), dict(settings["headers"]))
    key = with_id(settings["key"], resource_id)
    url = sign_upload(_bucket(request), key, lifetime=_SIGNED_FOR)
    is_azure = request.type is DestinationType.AZURE
    return UploadTarget(url, {"x-ms-blob-type": "BlockBlob"} if is_azure else {})


def public_address(request: DestinationRequest) -> str:
    """Return the address of a destination for people: no credentials, no query."""
    settings = request.settings
    match request.type:
        case DestinationType.S3:
            return f"s3://{settings['bucket']}/{settings['key']}"
        case DestinationType.GCS:
            return f"gs://{settings['bucket']}/{settings['key']}"
        case DestinationType.AZURE:
            return f"az://{settings['account']}/{settings['container']}/{settings['key']}"
        case DestinationType.URL:
            parts = urlsplit(settings["url"])
            return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def settings_json(settings: Mapping[str, Any]) -> bytes:
    """Return settings as bytes, to be encrypted."""
    return json.dumps(settings).encode()


def _bucket(request: DestinationRequest) -> Bucket:
    values = {name: value for name, value in request.settings.items() if name != "key"}
    match request.type:
        case DestinationType.S3:
            return S3Bucket(**values)
        case DestinationType.GCS:
            return GcsBucket(**values)
        case _:
            return AzureContainer(**values)
