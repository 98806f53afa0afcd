"""Endpoints for their owners: register and archive them. They never change."""

from typing import Final
from urllib.parse import urlsplit

from framekiln.audit.log import record
from framekiln.db.pool import Connection, Database
from framekiln.kit.clock import Clock
from framekiln.kit.fetch import GuardedFetcher
from framekiln.kit.guarded_transport import FetchRefused
from framekiln.kit.ids import OrganizationId, new_uuid
from framekiln.pipelines.errors import EndpointNotFound, invalid_request
from framekiln.pipelines.model.endpoint import Endpoint
from framekiln.pipelines.model.pipeline import EndpointId, PageRequest
from framekiln.pipelines.schema.issues import IssueCode, ValidationIssue
from framekiln.pipelines.services.requests import EndpointRequest
from framekiln.pipelines.stores import endpoint as endpoint_store
from framekiln.webhooks.signatures import new_secret

# The caller waits for the response; a slow name server is no reason to refuse a URL.
_DNS_TIMEOUT_S: Final = 3.0


class Endpoints:
    """The endpoints of all organizations, for their owners."""

    def __init__(self, database: Database, *, fetcher: GuardedFetcher, clock: Clock) -> None:
        self._database = database
        self._fetcher = fetcher
        self._clock = clock

    async def create(self, organization_id: OrganizationId, request: EndpointRequest) -> Endpoint:
        """Register an endpoint; show its secret only this once."""
        try:
            await self._fetcher.check(request.url, within_s=_DNS_TIMEOUT_S)
        except FetchRefused as error:
            issue = ValidationIssue("url", IssueCode.NOT_ALLOWED)
            raise invalid_request([issue], reason=error.message) from error
        endpoint = Endpoint(
            id=EndpointId(new_uuid()),
            organization_id=organization_id,
            url=request.url,
            headers=request.headers or {},
            timeout_ms=request.timeout_ms,
            callback_timeout_ms=request.callback_timeout_ms,
            max_concurrency=request.max_concurrency,
            signing_secret=new_secret(),
            created_at=self._clock.now(),
        )
        async with self._database.transaction() as connection:
            await endpoint_store.insert(connection, endpoint)
            await record(
                connection,
                organization_id,
                "endpoint.created",
                resource=endpoint.id,
                now=endpoint.created_at,
                host=urlsplit(endpoint.url).hostname,
            )
        return endpoint

    async def get(self, organization_id: OrganizationId, endpoint_id: EndpointId) -> Endpoint:
        """Return an endpoint of the organization, archived or not."""
        async with self._database.connection() as connection:
            return await _find(connection, organization_id, endpoint_id)

    async def page(
        self, organization_id: OrganizationId, page_request: PageRequest, *, include_archived: bool
    ) -> list[Endpoint]:
        """Return a page of endpoints, newest first."""
        async with self._database.connection() as connection:
            return await endpoint_store.list_newest(
                connection, organization_id, page_request, include_archived=include_archived
            )

    async def archive(self, organization_id: OrganizationId, endpoint_id: EndpointId) -> Endpoint:
        """Archive an endpoint: nothing new is sent to it. May be repeated."""
        async with self._database.transaction() as connection:
            found = await _find(connection, organization_id, endpoint_id)
            now = self._clock.now()
            await endpoint_store.archive(connection, endpoint_id, now=now)
            if found.archived_at is None:
                await record(
                    connection,
                    organization_id,
                    "endpoint.archived",
                    resource=endpoint_id,
                    now=now,
                    host=urlsplit(found.url).hostname,
                )
            return await _find(connection, organization_id, endpoint_id)


async def _find(
    connection: Connection, organization_id: OrganizationId, endpoint_id: EndpointId
) -> Endpoint:
    endpoint = await endpoint_store.find(connection, organization_id, endpoint_id)
    if endpoint is None:
        raise EndpointNotFound(f"there is no endpoint {endpoint_id}")
    return endpoint
