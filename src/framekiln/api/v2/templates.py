"""/v2/templates: store a layer config with inputs, and make videos of it with data (spec 4.1)."""

from typing import Any

from fastapi import APIRouter, Request

from framekiln.api.auth import AuthenticatedCaller, services_of
from framekiln.api.destination_bodies import video_destinations
from framekiln.api.v2.bodies import (
    Deleted,
    RenderedData,
    RenderedTemplateAnswer,
    TemplateAnswer,
    TemplateList,
    template_info,
    video_summary,
)
from framekiln.api.v2.forms import open_form
from framekiln.api.v2.openapi_bodies import CREATE_TEMPLATE, RENDER_TEMPLATE
from framekiln.api.v2.pages import PageParam, page_answer
from framekiln.videos.templates.model import NewTemplate

router = APIRouter(prefix="/v2", tags=["templates"])

MAX_NAME_CHARS = 255


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
    async with open_form(request) as form:
        new = NewTemplate(
            name=form.require_text("name", longest=MAX_NAME_CHARS),
            config=await form.require_json("config"),
            inputs=await form.require_json("inputs"),
            default_values=await form.require_json("default_values"),
        )
    created = await services_of(request).v2.templates.create(caller, new)
    extra: dict[str, Any] = {}
    if created.warnings:
        extra["warnings"] = [warning.as_json() for warning in created.warnings]
    return TemplateAnswer(data=template_info(created.template), **extra)


@router.get(
    "/templates/{template_id}", response_model_exclude_unset=True, summary="Show a template"
)
async def get_template(
    request: Request, caller: AuthenticatedCaller, template_id: str
) -> TemplateAnswer:
    """Return a template."""
    found = await services_of(request).v2.templates.get(caller.organization.id, template_id)
    return TemplateAnswer(data=template_info(found))


@router.get(
    "/templates/{template_id}/schema", summary="Show the JSON Schema of the data of a template"
)
async def get_template_schema(
    request: Request, caller: AuthenticatedCaller, template_id: str
) -> dict[str, Any]:
    """Return the JSON Schema of `data`, made from the rules of the inputs."""
    return await services_of(request).v2.templates.schema(caller.organization.id, template_id)


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
    templates = services_of(request).v2.templates
    await templates.get(caller.organization.id, template_id)
    async with open_form(request) as form:
        data = await form.require_json("data")
        also_write = await video_destinations(services_of(request), await form.json("destinations"))
    rendered = await templates.render(caller, template_id, data, also_write=also_write)
    extra: dict[str, Any] = {}
    warnings = [warning.as_json() for warning in rendered.warnings]
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
