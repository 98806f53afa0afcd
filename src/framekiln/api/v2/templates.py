"""/v2/templates: store a layer config with inputs, and make videos of it with data (spec 4.1)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final

from fastapi import APIRouter, Path, Query, Request

from framekiln.api.auth import AuthenticatedCaller, services_of
from framekiln.api.destination_bodies import (
    owner_of,
    template_destinations,
    video_destinations,
)
from framekiln.api.v2.bodies import (
    CheckedTemplateAnswer,
    CheckedTemplateInfo,
    Deleted,
    RenderedData,
    RenderedTemplateAnswer,
    TemplateAnswer,
    TemplateDestination,
    TemplateDetails,
    TemplateList,
    TemplateSourceAnswer,
    TemplateVersionList,
    template_info,
    template_source_info,
    template_version_info,
    video_summary,
)
from framekiln.api.v2.forms import Form, field_error, open_form, unknown_fields
from framekiln.api.v2.openapi_bodies import CHECK_TEMPLATE, CREATE_TEMPLATE, RENDER_TEMPLATE
from framekiln.api.v2.pages import PageParam, page_answer
from framekiln.composition.layers.findings import ConfigFinding
from framekiln.services import Services
from framekiln.videos.templates.model import NewTemplate
from framekiln.videos.templates.service import MAX_VERSIONS, CreatedTemplate, WriteWithTemplate

router = APIRouter(prefix="/v2", tags=["templates"])

MAX_NAME_CHARS = 255
_FIELDS: Final = ("name", "config", "inputs", "default_values", "destinations")


@router.get("/templates", summary="List templates, newest first")
async def list_templates(
    request: Request, caller: AuthenticatedCaller, asked: PageParam
) -> TemplateList:
    """Return a page of templates."""
    page = await services_of(request).v2.templates.list(caller.organization.id, asked)
    return TemplateList(**page_answer(request, page, template_info))


@router.post(
    "/templates",
    status_code=201,
    response_model_exclude_unset=True,
    openapi_extra=CREATE_TEMPLATE,
    summary="Create a template",
)
async def create_template(request: Request, caller: AuthenticatedCaller) -> TemplateAnswer:
    """Keep a template that can be rendered: it is tried with its own default values."""
    services = services_of(request)
    posted = await _read_template(request)
    stored = await services.v2.templates.create(
        caller, posted.template, also_write=posted.also_write
    )
    return await _answer(services, stored, posted.warnings)


@router.post(
    "/templates/check",
    response_model_exclude_unset=True,
    openapi_extra=CHECK_TEMPLATE,
    summary="Check a template without storing it",
)
async def check_template(request: Request, caller: AuthenticatedCaller) -> CheckedTemplateAnswer:
    """Return the schema of its data and, if data is sent, the config that it becomes."""
    async with open_form(request) as form:
        new = NewTemplate(
            name="",
            config=await form.require_json("config"),
            inputs=await form.require_json("inputs"),
            default_values=await form.require_json("default_values"),
        )
        data = await form.json("data")
        unknown = _unknown(form, (*_FIELDS, "data"), what="a template")
    checked = await services_of(request).v2.templates.check(caller.organization.id, new, data)
    extra: dict[str, Any] = {}
    if unknown or checked.warnings:
        extra["warnings"] = [warning.as_json() for warning in (*unknown, *checked.warnings)]
    info = CheckedTemplateInfo(
        data_schema=checked.schema, parsed_config=dict(checked.parsed_config)
    )
    return CheckedTemplateAnswer(data=info, **extra)


@router.put(
    "/templates/{template_id}",
    response_model_exclude_unset=True,
    openapi_extra=CREATE_TEMPLATE,
    summary="Update a template",
)
async def update_template(
    request: Request, caller: AuthenticatedCaller, template_id: str
) -> TemplateAnswer:
    """Make a new version of a template; videos of earlier versions stay as they are.

    Destinations belong to all versions. Those that are there stay unless others are sent.
    """
    services = services_of(request)
    await services.v2.templates.get(caller.organization.id, template_id)
    posted = await _read_template(request)
    stored = await services.v2.templates.update(
        caller, template_id, posted.template, also_write=posted.also_write
    )
    return await _answer(services, stored, posted.warnings)


@router.get("/templates/{template_id}/versions", summary="List the versions of a template")
async def list_template_versions(
    request: Request, caller: AuthenticatedCaller, template_id: str, asked: PageParam
) -> TemplateVersionList:
    """Return a page of versions, newest first."""
    templates = services_of(request).v2.templates
    page = await templates.versions(caller.organization.id, template_id, asked)
    return TemplateVersionList(**page_answer(request, page, template_version_info))


@router.get("/templates/{template_id}/versions/{number}", summary="Show a version of a template")
async def get_template_version(
    request: Request,
    caller: AuthenticatedCaller,
    template_id: str,
    number: Annotated[int, Path(ge=1, le=MAX_VERSIONS)],
) -> TemplateSourceAnswer:
    """Return a version as it was sent: config, inputs and default values."""
    templates = services_of(request).v2.templates
    source = await templates.source(caller.organization.id, template_id, number)
    return TemplateSourceAnswer(data=template_source_info(source))


@router.get(
    "/templates/{template_id}", response_model_exclude_unset=True, summary="Show a template"
)
async def get_template(
    request: Request, caller: AuthenticatedCaller, template_id: str
) -> TemplateAnswer:
    """Return a template."""
    services = services_of(request)
    found = await services.v2.templates.get(caller.organization.id, template_id)
    return await _answer(services, CreatedTemplate(found, ()))


@router.get(
    "/templates/{template_id}/schema", summary="Show the JSON Schema of the data of a template"
)
async def get_template_schema(
    request: Request,
    caller: AuthenticatedCaller,
    template_id: str,
    version: Annotated[int | None, Query(ge=1, le=MAX_VERSIONS)] = None,
) -> dict[str, Any]:
    """Return the JSON Schema of `data`, made from the rules of the inputs."""
    templates = services_of(request).v2.templates
    return await templates.schema(caller.organization.id, template_id, version=version)


@router.post(
    "/templates/{template_id}/render",
    status_code=201,
    response_model_exclude_unset=True,
    openapi_extra=RENDER_TEMPLATE,
    summary="Create a video from a template",
)
async def render_template(
    request: Request, caller: AuthenticatedCaller, template_id: str
) -> RenderedTemplateAnswer:
    """Fill the template with data; the video is made like any other."""
    services = services_of(request)
    templates = services.v2.templates
    template = await templates.get(caller.organization.id, template_id)
    async with open_form(request) as form:
        data = await form.require_json("data")
        version = await read_version(form)
        sent = await form.json("destinations")
        also_write = await video_destinations(services, sent, template)
        known = ("data", "version", "destinations")
        unknown = _unknown(form, known, what="a request to render a template")
    rendered = await templates.render(
        caller, template_id, data, version=version, also_write=also_write
    )
    extra: dict[str, Any] = {}
    warnings = [warning.as_json() for warning in (*unknown, *rendered.warnings)]
    warnings += [dict(each) for each in rendered.video.record.warnings]
    if warnings:
        extra["warnings"] = warnings
    return RenderedTemplateAnswer(
        data=RenderedData(
            template=template_info(rendered.template, dict(rendered.video.record.config)),
            video=video_summary(rendered.video),
        ),
        **extra,
    )


@router.delete("/templates/{template_id}", summary="Delete a template")
async def delete_template(
    request: Request, caller: AuthenticatedCaller, template_id: str
) -> Deleted:
    """Remove the template; videos made of it stay."""
    await services_of(request).v2.templates.delete(caller.organization.id, template_id)
    return Deleted(deleted=True)


async def read_version(form: Form) -> int | None:
    """Return the version of a template that a form asks for; None means the newest."""
    version = await form.json("version")
    if version is not None and (isinstance(version, bool) or not isinstance(version, int)):
        raise field_error("version", "type", "version must be an integer")
    return version


@dataclass(frozen=True)
class _PostedTemplate:
    """What was sent, and what of it has no effect."""

    template: NewTemplate
    also_write: WriteWithTemplate | None
    warnings: tuple[ConfigFinding, ...]


async def _read_template(request: Request) -> _PostedTemplate:
    async with open_form(request) as form:
        new = NewTemplate(
            name=form.require_text("name", longest=MAX_NAME_CHARS),
            config=await form.require_json("config"),
            inputs=await form.require_json("inputs"),
            default_values=await form.require_json("default_values"),
        )
        sent = await form.json("destinations")
        also_write = await template_destinations(services_of(request), sent)
        return _PostedTemplate(new, also_write, _unknown(form, _FIELDS, what="a template"))


def _unknown(form: Form, known: Sequence[str], *, what: str) -> tuple[ConfigFinding, ...]:
    # Editors find the JSON Schema by `$schema`.
    return unknown_fields((each for each in form.values if each != "$schema"), known, what=what)


async def _answer(
    services: Services, stored: CreatedTemplate, warnings: tuple[ConfigFinding, ...] = ()
) -> TemplateAnswer:
    extra: dict[str, Any] = {}
    if warnings or stored.warnings:
        extra["warnings"] = [warning.as_json() for warning in (*warnings, *stored.warnings)]
    details = template_info(stored.template).model_dump()
    found = await services.destinations.stored(owner_of(stored.template))
    if found:
        details["destinations"] = [
            TemplateDestination(type=each.type, address=each.address) for each in found
        ]
    return TemplateAnswer(data=TemplateDetails(**details), **extra)
