"""The HTTP application: routes, middleware, and the OpenAPI document.

It uses services that are already open, and never opens or closes them.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, FastAPI
from fastapi.openapi.utils import get_openapi

from framekiln import __version__
from framekiln.api import health, metrics, reference, sessions, sse, studio
from framekiln.api.auth import describe_authentication
from framekiln.api.bodies import hoist_definitions
from framekiln.api.body_memory import upload_memory
from framekiln.api.errors import install_error_handlers
from framekiln.api.link_access import LinkAccess
from framekiln.api.metrics import Metrics
from framekiln.api.middleware import RequestMiddleware
from framekiln.api.openapi_examples import add_examples, describe_events
from framekiln.api.request_turns import RequestTurns
from framekiln.api.route_index import RouteIndex
from framekiln.api.unknown_fields import describe_warnings
from framekiln.api.v1 import (
    activity,
    audit,
    client_reports,
    file_content,
    file_frames,
    file_metadata,
    files,
    keys,
    legacy_files,
    legacy_tracks,
    links,
    members,
    organization,
    pipeline_batches,
    pipeline_callbacks,
    pipeline_endpoints,
    pipeline_reviews,
    pipeline_runs,
    pipelines,
    render_details,
    renders,
    stream_media,
    streams,
    tokens,
    transcode,
    transcript_corrections,
    transcriptions,
    uploads,
    webhooks,
)
from framekiln.api.v2 import bulks, metadata, templates, video_media, videos

if TYPE_CHECKING:
    from framekiln.services import Services

# Each module of v1 joins here. Order matters where two routes match one path.
V1_ROUTERS: tuple[APIRouter, ...] = (
    organization.router,
    activity.router,
    keys.router,
    members.router,
    audit.router,
    renders.router,
    render_details.router,
    tokens.router,
    links.router,
    files.router,
    uploads.router,
    streams.router,
    stream_media.router,
    file_content.router,
    file_frames.router,
    legacy_files.router,
    legacy_tracks.router,
    transcode.router,
    webhooks.router,
    transcriptions.router,
    transcript_corrections.router,
    pipelines.router,
    pipeline_runs.router,
    pipeline_batches.router,
    pipeline_callbacks.router,
    pipeline_endpoints.router,
    pipeline_reviews.router,
    file_metadata.router,
    client_reports.router,
)
# `video_media` first: `frame` in /v2/videos/frame is not the id of a video.
V2_ROUTERS: tuple[APIRouter, ...] = (
    templates.router,
    bulks.router,
    video_media.router,
    videos.router,
    metadata.router,
)
SESSION_ROUTERS: tuple[APIRouter, ...] = (sessions.router,)
OPERATION_ROUTERS: tuple[APIRouter, ...] = (
    health.router,
    metrics.router,
    reference.router,
    studio.router,
)

DESCRIPTION = "Media composition and rendering: HTML or JSON in, MP4 or stills out."


def create_app(services: "Services") -> FastAPI:
    """Return the application over `services`."""
    app = FastAPI(
        title="Framekiln",
        version=__version__,
        description=DESCRIPTION,
        # Both pages would load scripts from other hosts; `reference` has one of our own.
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        # Nothing sets a provider up, and looking for one costs each request.
        telemetry={"tracing": False, "metrics": False, "logs": False},
    )
    app.state.services = services
    app.state.metrics = Metrics()
    app.state.turns = RequestTurns()
    app.state.upload_memory = upload_memory()
    app.state.stream_places = sse.StreamPlaces()
    app.state.activity_places = sse.StreamPlaces()
    install_error_handlers(app)
    # Not included as routers: each of those tries its routes for every request.
    for router in (*V1_ROUTERS, *V2_ROUTERS, *SESSION_ROUTERS, *OPERATION_ROUTERS):
        app.router.routes.extend(router.routes)
    app.state.routes = RouteIndex(app.router)
    app.router.middleware_stack = LinkAccess(app.state.routes)
    app.add_middleware(RequestMiddleware, metrics=app.state.metrics, turns=app.state.turns)
    app.openapi = lambda: describe(app)  # type: ignore[method-assign]
    return app


def describe(app: FastAPI) -> dict[str, Any]:
    """Return the OpenAPI document, made once."""
    if app.openapi_schema is None:
        document = get_openapi(
            title=app.title,
            version=app.version,
            description=app.description,
            routes=app.routes,
        )
        describe_authentication(document, app.routes)
        hoist_definitions(document)
        describe_warnings(document)
        schemas = document["components"]["schemas"]
        schemas.update(pipelines.definition_schemas())
        for replaced in ("HTTPValidationError", "ValidationError"):
            schemas.pop(replaced, None)
        schemas["Error"] = ERROR_SCHEMA
        schemas["FrameTimes"] = file_frames.FRAME_TIMES_SCHEMA
        for path_item in document["paths"].values():
            for operation in path_item.values():
                _describe_errors(operation)
        add_examples(document)
        describe_events(document)
        app.openapi_schema = document
    return app.openapi_schema


ERROR_SCHEMA = {
    "title": "Error",
    "type": "object",
    "description": "What went wrong: `error` for programs, `message` for people.",
    "required": ["error", "message"],
    "properties": {
        "error": {"type": "string", "examples": ["invalid_request"]},
        "message": {"type": "string"},
        "remedy": {
            "type": "string",
            "description": "What to do; of invalid input, `message` and `issues` say it.",
        },
        "field": {"type": "string", "description": "Dotted path of the first wrong field."},
        "issues": {"type": "array", "items": {"type": "object"}},
    },
}


def _describe_errors(operation: dict[str, Any]) -> None:
    """Replace the framework's error schema with ours."""
    responses = operation["responses"]
    responses.pop("422", None)
    content: dict[str, Any] = {
        "application/json": {"schema": {"$ref": "#/components/schemas/Error"}}
    }
    for each in responses.values():
        if sse.MEDIA_TYPE in each.get("content", {}):
            # A schema would describe every event, and events differ.
            each["content"][sse.MEDIA_TYPE] = content[sse.MEDIA_TYPE] = {}
    for status, description in _limit_responses(operation, is_stream=sse.MEDIA_TYPE in content):
        responses.setdefault(status, {"description": description, "content": content})
    responses["default"] = {"description": "An error", "content": content}


def _limit_responses(operation: Mapping[str, Any], *, is_stream: bool) -> Iterator[tuple[str, str]]:
    if "requestBody" in operation:
        yield "408", "The body did not arrive in time"
        yield "413", "The body is too large"
    if is_stream:
        yield "429", "Too many event streams are open; Retry-After says when to try again"
