"""/docs, /llms.txt and /schemas: the API for people, language models and editors, offline."""

from functools import cache
from importlib.resources import files
from typing import Any, Final

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response

from framekiln.kit.errors import NotFound

router = APIRouter(tags=["operation"])

_PREFIX: Final = "#/components/schemas/"
_COMPONENTS: Final = {
    "layer-config": "LayerConfig",
    "template-config": "TemplateLayerConfig",
    "pipeline-definition": "PipelineDefinition",
}
_BODIES: Final = {"template": "/v2/templates"}
SCHEMA_NAMES: Final = (*_COMPONENTS, *_BODIES)

_FILES: Final = {
    "reference.html": "text/html; charset=utf-8",
    "reference.css": "text/css; charset=utf-8",
    "reference.js": "text/javascript; charset=utf-8",
    "llms.txt": "text/plain; charset=utf-8",
}
_HEADERS: Final = {
    "Cache-Control": "no-cache",
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self';"
    " connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}


@router.get("/docs", include_in_schema=False)
async def show_reference() -> Response:
    """Return the page; it reads /openapi.json."""
    return _file("reference.html")


@router.get("/docs/{name}", include_in_schema=False)
async def get_reference_file(name: str) -> Response:
    """Return the style or the script of the page."""
    if name not in _FILES:
        raise NotFound(f"the reference has no file {name[:100]!r}")
    return _file(name)


@router.get("/llms.txt", include_in_schema=False)
async def show_summary() -> Response:
    """Return a summary of the API for language models."""
    return _file("llms.txt")


@router.get("/schemas/{name}.json", include_in_schema=False)
async def get_schema(request: Request, name: str) -> JSONResponse:
    """Return a JSON Schema; no key is needed, because editors have none."""
    if name not in SCHEMA_NAMES:
        known = ", ".join(f"/schemas/{each}.json" for each in SCHEMA_NAMES)
        raise NotFound(f"there is no schema {name[:100]!r}: there are {known}")
    headers = {"Access-Control-Allow-Origin": "*", "Cache-Control": "no-cache"}
    return JSONResponse(
        editor_schema(request.app.openapi(), name),
        headers=headers,
        media_type="application/schema+json",
    )


def editor_schema(document: dict[str, Any], name: str) -> dict[str, Any]:
    """Return one schema of an OpenAPI document with all that it refers to."""
    shared = document["components"]["schemas"]
    if name in _COMPONENTS:
        root = shared[_COMPONENTS[name]]
    else:
        body = document["paths"][_BODIES[name]]["post"]["requestBody"]
        root = body["content"]["application/json"]["schema"]
    named: dict[str, Any] = {}
    top = _moved(root, shared, named)
    # Editors find the schema by this field, so it is part of every config.
    properties = {"$schema": {"type": "string"}, **top.get("properties", {})}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **top,
        "properties": properties,
        "$defs": named,
    }


def _moved(value: Any, shared: dict[str, Any], named: dict[str, Any]) -> Any:
    """Return a schema whose references lead to `$defs`, which are added to `named`."""
    if isinstance(value, list):
        return [_moved(each, shared, named) for each in value]
    if not isinstance(value, dict):
        return value
    moved = {key: _moved(each, shared, named) for key, each in value.items()}
    target = moved.get("$ref")
    if isinstance(target, str) and target.startswith(_PREFIX):
        name = target.removeprefix(_PREFIX)
        moved["$ref"] = f"#/$defs/{name}"
        if name not in named:
            named[name] = {}  # Registered first: groups may contain groups.
            named[name] = _moved(shared[name], shared, named)
    # Discriminators are a part of OpenAPI only.
    moved.pop("discriminator", None)
    return moved


def _file(name: str) -> Response:
    return Response(_content(name), media_type=_FILES[name], headers=_HEADERS)


@cache
def _content(name: str) -> bytes:
    return files("framekiln.api").joinpath("reference_page", name).read_bytes()
