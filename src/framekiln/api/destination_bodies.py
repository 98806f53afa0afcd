"""`destinations` of renders and videos: what callers send, and what they see."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, Final, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    field_validator,
)
from pydantic_core import ErrorDetails

from framekiln.api.errors import ProblemIssue, issue_of
from framekiln.db.pool import Connection
from framekiln.destinations.errors import DestinationInvalid
from framekiln.destinations.events import destination_summary
from framekiln.destinations.model import (
    ID_PLACEHOLDER,
    MAX_DESTINATIONS,
    Destination,
    DestinationOwner,
    DestinationRequest,
    DestinationType,
)
from framekiln.kit.canonical_json import canonical_json
from framekiln.kit.fetch import OWN_HEADERS
from framekiln.kit.suggestions import did_you_mean
from framekiln.services import Services
from framekiln.videos.bulks.model import Bulk
from framekiln.videos.bulks.service import WriteWithBulk
from framekiln.videos.model import Video
from framekiln.videos.service import WriteWithVideo
from framekiln.videos.templates.model import StoredTemplate
from framekiln.videos.templates.service import WriteWithTemplate


def _without_other_placeholders(text: str) -> str:
    rest = text.replace(ID_PLACEHOLDER, "")
    if "{" in rest or "}" in rest:
        raise ValueError(
            f"must have no braces but those of {ID_PLACEHOLDER}: nothing else is filled in"
        )
    return text


Name = Annotated[str, Field(min_length=1, max_length=255, pattern=r"^[A-Za-z0-9._-]+$")]
Key = Annotated[
    str,
    Field(min_length=1, max_length=1024, description="`{id}` becomes the id of the output."),
    AfterValidator(_without_other_placeholders),
]
Secret = Annotated[str, Field(min_length=1, max_length=8192)]
Url = Annotated[str, Field(min_length=1, max_length=8192)]
_HEADER_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE: Final = re.compile(r"[\x21-\x7e]([\t\x20-\x7e]*[\x21-\x7e])?")
_ORIGIN: Final = re.compile(r"https?://[A-Za-z0-9.\-\[\]:]{1,255}/?")


class _Settings(BaseModel):
    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    def as_request(self) -> DestinationRequest:
        """Return the request with these settings."""
        settings = self.model_dump()
        return DestinationRequest(DestinationType(settings.pop("type")), settings)


class _ObjectSettings(_Settings):
    key: Key

    @field_validator("key")
    @classmethod
    def _plain(cls, key: str) -> str:
        segments = key.split("/")
        if not key.isprintable() or any(each in ("", ".", "..") for each in segments):
            raise ValueError("must have no empty segment, no `.` or `..`, and printable characters")
        return key


class S3Settings(_ObjectSettings):
    """A bucket of Amazon S3, or of a server with the same interface at `endpoint`."""

    type: Literal["s3"]
    bucket: Name
    region: Name = "us-east-1"
    endpoint: Url = ""
    access_key_id: Secret
    secret_access_key: Secret
    session_token: Secret | None = None

    @field_validator("endpoint")
    @classmethod
    def _origin(cls, endpoint: str) -> str:
        if endpoint and not _ORIGIN.fullmatch(endpoint):
            raise ValueError("must be a scheme and a host, such as https://minio.example:9000")
        return endpoint

    def as_request(self) -> DestinationRequest:
        """Return the request; the endpoint of Amazon follows from the region."""
        found = super().as_request()
        endpoint = self.endpoint.rstrip("/") or f"https://s3.{self.region}.amazonaws.com"
        return DestinationRequest(found.type, {**found.settings, "endpoint": endpoint})


class GcsSettings(_ObjectSettings):
    """A bucket of Google Cloud Storage."""

    type: Literal["gcs"]
    bucket: Name
    service_account_key: dict[str, Any] = Field(description="The JSON key of a service account.")

    def as_request(self) -> DestinationRequest:
        """Return the request; the key is kept as text."""
        found = super().as_request()
        key = canonical_json(self.service_account_key).decode()
        return DestinationRequest(found.type, {**found.settings, "service_account_key": key})


class AzureSettings(_ObjectSettings):
    """A container of Azure Blob Storage."""

    type: Literal["azure"]
    account: Name
    container: Name
    account_key: Secret


class UrlSettings(_Settings):
    """A presigned URL, or any other that accepts a PUT request."""

    type: Literal["url"]
    url: Annotated[Url, AfterValidator(_without_other_placeholders)]
    headers: dict[Annotated[str, Field(max_length=100)], Secret] = Field(
        default_factory=dict, max_length=20
    )

    @field_validator("headers")
    @classmethod
    def _sendable(cls, headers: dict[str, str]) -> dict[str, str]:
        for name, value in headers.items():
            if not _HEADER_NAME.fullmatch(name):
                raise ValueError(f"{name!r} is not the name of a header")
            if name.lower() in OWN_HEADERS:
                raise ValueError(f"{name} is set by the service: leave it out")
            if not _HEADER_VALUE.fullmatch(value):
                raise ValueError(
                    f"the value of {name} must be printable ASCII, without spaces around it"
                )
        return headers


_LIST: TypeAdapter[list[S3Settings | GcsSettings | AzureSettings | UrlSettings]] = TypeAdapter(
    Annotated[
        list[
            Annotated[
                S3Settings | GcsSettings | AzureSettings | UrlSettings, Field(discriminator="type")
            ]
        ],
        Field(max_length=MAX_DESTINATIONS),
    ]
)


_FIELDS: Final = {
    "s3": tuple(S3Settings.model_fields),
    "gcs": tuple(GcsSettings.model_fields),
    "azure": tuple(AzureSettings.model_fields),
    "url": tuple(UrlSettings.model_fields),
}


def read_destinations(value: Any) -> list[DestinationRequest]:
    """Return the destinations that a caller has sent; None is none."""
    if value is None:
        return []
    try:
        return [each.as_request() for each in _LIST.validate_python(value)]
    except ValidationError as error:
        # Never the input: it has credentials.
        found = error.errors(include_url=False, include_context=False, include_input=False)
        # The second part of a place repeats the type.
        places = [("destinations", *each["loc"][:1], *each["loc"][2:]) for each in found]
        issues = [
            _with_hint(issue_of({**each, "loc": place}), each)
            for each, place in zip(found, places, strict=True)
        ]
        first = issues[0]
        raise DestinationInvalid(
            f"{first.path}: {first.message}",
            field=first.path,
            issues=[
                {"path": each.path, "code": each.code, "message": each.message} for each in issues
            ],
        ) from error


def _with_hint(issue: ProblemIssue, error: ErrorDetails) -> ProblemIssue:
    """Return an issue; that of an unknown field names the one that was probably meant."""
    if error["type"] != "extra_forbidden":
        return issue
    _, name, field = error["loc"]
    known = _FIELDS[str(name)]
    hint = did_you_mean(str(field), known) or f"it has {', '.join(known)}"
    return replace(issue, message=f"is not a field of {name}: {hint}")


def describe_destinations(found: Sequence[Destination]) -> list[dict[str, Any]]:
    """Return destinations as their owner sees them."""
    return [destination_summary(each) for each in found]


async def video_destinations(
    services: Services, value: Any, template: StoredTemplate | None = None
) -> WriteWithVideo:
    """Return what adds the destinations that a caller has sent to a new video.

    Without any, the video gets those of its template.
    """
    prepared = await services.destinations.prepare(read_destinations(value))

    async def add(connection: Connection, video: Video) -> None:
        if value is None and template is not None:
            await services.destinations.add_stored(
                connection, video.render, owner_of(template), resource_id=video.id
            )
        else:
            await services.destinations.add(
                connection, video.render, prepared, resource_id=video.id
            )

    return add


async def template_destinations(services: Services, value: Any) -> WriteWithTemplate | None:
    """Return what stores the destinations that a caller has sent; None leaves them as they are."""
    if value is None:
        return None
    prepared = await services.destinations.prepare(read_destinations(value))

    async def store(connection: Connection, template: StoredTemplate) -> None:
        await services.destinations.store(connection, owner_of(template), prepared)

    return store


async def bulk_destinations(
    services: Services, value: Any, template: StoredTemplate, *, row_count: int
) -> tuple[list[str] | None, WriteWithBulk]:
    """Return the addresses that a caller has sent, and what gives a new bulk its destinations.

    Without any, the bulk gets those of its template.
    """
    prepared = await services.destinations.prepare(read_destinations(value))
    if row_count > 1:
        stored = value is None
        given = await services.destinations.stored(owner_of(template)) if stored else prepared
        await services.destinations.require_own_addresses(given)
    addresses = None if value is None else [each.address for each in prepared]

    async def store(connection: Connection, bulk: Bulk) -> None:
        owner = DestinationOwner(bulk.organization_id, bulk_id=bulk.id)
        if value is None:
            await services.destinations.copy_stored(connection, owner_of(template), owner)
        else:
            await services.destinations.store(connection, owner, prepared)

    return addresses, store


def owner_of(template: StoredTemplate) -> DestinationOwner:
    """Return a template as the owner of destinations."""
    return DestinationOwner(template.organization_id, template_id=template.id)
