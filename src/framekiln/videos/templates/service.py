"""The operations on templates: store them, and make videos from them with data."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from framekiln.audit.log import record
from framekiln.composition.layers import ConfigFinding
from framekiln.composition.templates import (
    NOT_CHECKED,
    Template,
    open_template,
    template_schema,
)
from framekiln.db.pool import Connection, Database
from framekiln.identity.model import Caller
from framekiln.kit.clock import Clock
from framekiln.kit.fair_threads import FairThreads
from framekiln.kit.ids import OrganizationId
from framekiln.videos.errors import TemplateNotFound, TemplateVersionNotFound, TooManyVersions
from framekiln.videos.model import Video, VideoRequest
from framekiln.videos.pagination import ListPage, PageNumberRequest
from framekiln.videos.public_ids import TemplateId, is_public_id, new_public_id
from framekiln.videos.service import Videos, WriteWithVideo
from framekiln.videos.templates import store
from framekiln.videos.templates.model import (
    NewTemplate,
    StoredTemplate,
    TemplateSource,
    TemplateSummary,
    TemplateVersion,
)
from framekiln.videos.templates.remote_checks import RemoteChecks
from framekiln.videos.templates.work import TemplateWork

MAX_VERSIONS: Final = 10_000

WriteWithTemplate = Callable[[Connection, StoredTemplate], Awaitable[None]]


@dataclass(frozen=True)
class CreatedTemplate:
    """A template and the warnings about it."""

    template: StoredTemplate
    warnings: tuple[ConfigFinding, ...]


@dataclass(frozen=True)
class RenderedTemplate:
    """A template, and the video made from it and data."""

    template: StoredTemplate
    video: Video
    warnings: tuple[ConfigFinding, ...]


@dataclass(frozen=True)
class TemplateCheck:
    """What a check found: the schema of the data, and the config that the data make."""

    schema: dict[str, Any]
    parsed_config: Mapping[str, Any]
    """Empty if there was no data."""
    warnings: tuple[ConfigFinding, ...]


class Templates:
    """The templates of all organizations, for their owners."""

    def __init__(
        self,
        database: Database,
        *,
        videos: Videos,
        remote: RemoteChecks,
        threads: FairThreads,
        clock: Clock,
    ) -> None:
        self._database = database
        self._work = TemplateWork(threads)
        self._threads = threads
        self._videos = videos
        self._remote = remote
        self._clock = clock

    async def create(
        self, caller: Caller, new: NewTemplate, *, also_write: WriteWithTemplate | None = None
    ) -> CreatedTemplate:
        """Validate a template, with its own default values, and store it.

        `also_write` runs in the same transaction.
        """
        kept, warnings = await self._normalized(caller.organization.id, new)
        async with self._database.transaction() as connection:
            stored = None
            while stored is None:
                template_id = TemplateId(new_public_id())
                now = self._clock.now()
                stored = await store.insert(connection, template_id, kept, caller=caller, now=now)
            await record(
                connection,
                caller.organization.id,
                "template.created",
                resource=stored.id,
                now=now,
                name=new.name,
            )
            if also_write is not None:
                await also_write(connection, stored)
        return CreatedTemplate(stored, warnings)

    async def update(
        self,
        caller: Caller,
        template_id: str,
        new: NewTemplate,
        *,
        also_write: WriteWithTemplate | None = None,
    ) -> CreatedTemplate:
        """Validate a new version of a template and store it; earlier ones are kept."""
        template = await self.get(caller.organization.id, template_id)
        kept, warnings = await self._normalized(caller.organization.id, new)
        now = self._clock.now()
        async with self._database.transaction() as connection:
            stored = await store.update(connection, template.id, kept, caller=caller, now=now)
            if stored is None:
                raise _no_template(template_id)
            if stored.version > MAX_VERSIONS:
                raise TooManyVersions(
                    f"template {template.id} has {MAX_VERSIONS} versions, which is the most;"
                    " create a new template",
                    limit=MAX_VERSIONS,
                )
            await record(
                connection,
                caller.organization.id,
                "template.changed",
                resource=stored.id,
                now=now,
                name=new.name,
                version=stored.version,
            )
            if also_write is not None:
                await also_write(connection, stored)
        return CreatedTemplate(stored, warnings)

    async def _normalized(
        self, organization_id: OrganizationId, new: NewTemplate
    ) -> tuple[NewTemplate, tuple[ConfigFinding, ...]]:
        checked = await self._work.check_new(organization_id, new)
        kept = replace(
            new,
            config=checked.config,
            inputs=new.inputs or {},
            default_values=checked.default_values,
        )
        return kept, checked.warnings

    async def check(
        self, organization_id: OrganizationId, new: NewTemplate, data: object | None
    ) -> TemplateCheck:
        """Validate a template and fill it with data, if there are any; store nothing."""
        kept, warnings = await self._normalized(organization_id, new)
        schema = await self._threads.run(organization_id, lambda: template_schema(_opened(kept)))
        if data is None:
            return TemplateCheck(schema, {}, warnings)
        filled = await self._work.fill(organization_id, kept, data)
        await self._remote.require(organization_id, filled.remote)
        request = VideoRequest(config=filled.config, is_filled_template=True)
        accepted = await self._videos.validate(organization_id, request)
        if any(each.code == NOT_CHECKED for each in warnings):
            # Now it is.
            warnings = accepted.read.warnings
        return TemplateCheck(schema, accepted.new.config, (*warnings, *filled.warnings))

    async def get_version(
        self, organization_id: OrganizationId, template_id: str, version: int | None
    ) -> StoredTemplate:
        """Return a template as it was in a version; None means the newest."""
        template = await self.get(organization_id, template_id)
        if version is None or version == template.version:
            return template
        found = None
        if 1 <= version <= MAX_VERSIONS:
            async with self._database.connection() as connection:
                found = await store.find_version(connection, organization_id, template.id, version)
        if found is None:
            raise _no_version(template, version)
        return found

    async def source(
        self, organization_id: OrganizationId, template_id: str, version: int
    ) -> TemplateSource:
        """Return what was sent as a version of a template."""
        template = await self.get(organization_id, template_id)
        async with self._database.connection() as connection:
            found = await store.find_source(connection, organization_id, template.id, version)
        if found is None:
            raise _no_version(template, version)
        return found

    async def versions(
        self, organization_id: OrganizationId, template_id: str, page_request: PageNumberRequest
    ) -> ListPage[TemplateVersion]:
        """Return a page of a template's versions, newest first."""
        template = await self.get(organization_id, template_id)
        async with self._database.connection() as connection:
            versions = await store.list_versions(connection, template.id, page_request)
        return ListPage(versions, page_request, template.version)

    async def get(self, organization_id: OrganizationId, template_id: str) -> StoredTemplate:
        """Return a template of the organization."""
        found = None
        if is_public_id(template_id):
            async with self._database.connection() as connection:
                found = await store.find(connection, organization_id, TemplateId(template_id))
        if found is None:
            raise _no_template(template_id)
        return found

    async def list(
        self, organization_id: OrganizationId, page_request: PageNumberRequest
    ) -> ListPage[TemplateSummary]:
        """Return a page of the organization's templates, newest first."""
        async with self._database.connection() as connection:
            total = await store.count(connection, organization_id)
            templates = await store.list_page(connection, organization_id, page_request)
        return ListPage(templates, page_request, total)

    async def delete(self, organization_id: OrganizationId, template_id: str) -> None:
        """Delete a template; videos made from it are kept."""
        template = await self.get(organization_id, template_id)
        async with self._database.transaction() as connection:
            if not await store.delete(connection, organization_id, template.id):
                raise _no_template(template_id)
            await record(
                connection,
                organization_id,
                "template.deleted",
                resource=template.id,
                now=self._clock.now(),
                name=template.name,
            )

    async def schema(
        self, organization_id: OrganizationId, template_id: str, *, version: int | None = None
    ) -> dict[str, Any]:
        """Return the JSON Schema of a template's data."""
        template = await self.get_version(organization_id, template_id, version)
        return await self._threads.run(organization_id, lambda: template_schema(_opened(template)))

    async def render(
        self,
        caller: Caller,
        template_id: str,
        data: object,
        *,
        version: int | None = None,
        also_write: WriteWithVideo | None = None,
    ) -> RenderedTemplate:
        """Fill a template with data and create the video; nothing is created if any rule fails.

        `also_write` runs in the transaction that creates the video.
        """
        template = await self.get_version(caller.organization.id, template_id, version)
        filled = await self._work.fill(caller.organization.id, template, data)
        await self._remote.require(caller.organization.id, filled.remote)
        request = VideoRequest(
            config=filled.config,
            template_id=template.id,
            template_version=template.version,
            is_filled_template=True,
        )
        video = await self._videos.create(caller, request, also_write=also_write)
        return RenderedTemplate(template, video, filled.warnings)


def _opened(template: StoredTemplate | NewTemplate) -> Template:
    return open_template(template.config, template.inputs, template.default_values)


def _no_version(template: StoredTemplate, version: int) -> TemplateVersionNotFound:
    return TemplateVersionNotFound(
        f"template {template.id} has no version {version}; its newest is {template.version}"
    )


def _no_template(template_id: str) -> TemplateNotFound:
    return TemplateNotFound(f"there is no template {template_id[:50]!r}")
