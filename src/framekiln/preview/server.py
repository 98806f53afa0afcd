"""The HTTP side of the preview: for browsers of this machine, and for its own page only.

Any page on the web can send requests to a local port. So a request must name this server as its
host (a name that was rebound to 127.0.0.1 is refused), and must not come from another origin. Other
users of the machine can connect, too. So the address has a token, which becomes a cookie.
"""

import asyncio
import hmac
import json
import secrets
from collections.abc import Awaitable, Callable
from contextlib import suppress
from http.cookies import CookieError, SimpleCookie
from typing import Any, Final, TypeVar, get_args

from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders, QueryParams
from starlette.requests import ClientDisconnect, Request
from starlette.responses import (
    FileResponse,
    JSONResponse,
    RedirectResponse,
    Response,
    StreamingResponse,
)
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from framekiln.composition.render_preset import RenderPreset
from framekiln.engine.page.render_data import MAX_DATA_BYTES
from framekiln.kit.errors import (
    CompositionFailed,
    Conflict,
    Forbidden,
    FramekilnError,
    InvalidInput,
    NotFound,
    TooLarge,
)
from framekiln.media.film_containers import FILM_CONTAINERS
from framekiln.preview.model import FilmChoice, FrameFormat
from framekiln.preview.service import Preview
from framekiln.studio import assets
from framekiln.studio.assets import PAGE_HEADERS

HOST: Final = "127.0.0.1"
_STATUSES: Final = (
    (InvalidInput, 400),
    (Forbidden, 403),
    (NotFound, 404),
    (Conflict, 409),
    (TooLarge, 413),
    (CompositionFailed, 422),
)
_HEADERS: Final = {
    **{name: value for name, value in PAGE_HEADERS.items() if name != "Cache-Control"},
    "Cross-Origin-Resource-Policy": "same-origin",
}
_FRAME_TYPES: Final[dict[FrameFormat, str]] = {"jpeg": "image/jpeg", "png": "image/png"}
# A version never changes, and its name is never used again.
_FOR_EVER: Final = {"Cache-Control": "private, max-age=86400, immutable"}
_CLIENT_CLOSED: Final = 499
_MAX_BODY_BYTES: Final = MAX_DATA_BYTES + 1024

T = TypeVar("T")


class PreviewAccess:
    """The secret of a preview: in the address that the command prints, then in a cookie."""

    def __init__(self, port: int) -> None:
        self._token = secrets.token_urlsafe(32)
        # Cookies belong to a host, with all its ports.
        self._cookie = f"framekiln_preview_{port}"
        self.url = f"http://{HOST}:{port}/?token={self._token}"

    def entry(self, scope: Scope) -> Response | None:
        """Return the response to the printed address, which sets the cookie; None for others."""
        asked = QueryParams(scope["query_string"]).get("token")
        if scope["path"] != "/" or asked is None or not self._is_token(asked):
            return None
        response = RedirectResponse("/", 303, headers={"Cache-Control": "no-store"})
        response.set_cookie(self._cookie, self._token, path="/", httponly=True, samesite="lax")
        return response

    def is_allowed(self, headers: Headers) -> bool:
        """Whether a request has the cookie."""
        try:
            found = SimpleCookie(headers.get("cookie", "")).get(self._cookie)
        except CookieError:
            return False
        return found is not None and self._is_token(found.value)

    def _is_token(self, text: str) -> bool:
        return hmac.compare_digest(text.encode(), self._token.encode())


class OwnPagesOnly:
    """Refuses requests for other hosts, from other origins and without the secret.

    It adds headers to all responses.
    """

    def __init__(self, app: ASGIApp, port: int, access: PreviewAccess) -> None:
        self._app = app
        self._access = access
        self._hosts = {f"{name}:{port}" for name in (HOST, "localhost")}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        refusal = self._refusal(scope)
        app: ASGIApp | None = None if refusal is None else problem_response(refusal)
        app = app or self._access.entry(scope) or self._checked_app(Headers(scope=scope))
        await app(scope, receive, send_with_headers)

    def _checked_app(self, headers: Headers) -> ASGIApp:
        if self._access.is_allowed(headers):
            return self._app
        message = "open the address that `framekiln preview` printed, with its token"
        return problem_response(Forbidden(message))

    def _refusal(self, scope: Scope) -> Forbidden | None:
        headers = Headers(scope=scope)
        host, origin = headers.get("host", ""), headers.get("origin")
        if host not in self._hosts:
            return Forbidden(f"this server is {' or '.join(sorted(self._hosts))}, not that host")
        if origin is not None and origin != f"http://{host}":
            return Forbidden("requests of other origins are refused: open the preview itself")
        is_foreign = headers.get("sec-fetch-site") in ("cross-site", "same-site")
        if is_foreign and not (scope["method"] == "GET" and scope["path"] == "/"):
            return Forbidden("requests of other sites are refused: open the preview itself")
        return None


def make_app(preview: Preview, port: int, access: PreviewAccess) -> ASGIApp:
    """Return the application for the page of a preview."""
    routes = PreviewRoutes(preview)
    app = Starlette(
        routes=[
            Route("/", routes.page),
            Route("/studio/assets/{name}", routes.asset),
            Route("/composition", routes.composition),
            Route("/frames/{version}/{number:int}", routes.frame),
            Route("/sound/{version}", routes.sound),
            Route("/events", routes.events),
            Route("/data", routes.set_data, methods=["PUT"]),
            Route("/render", routes.render, methods=["POST"]),
            Route("/films/{number:int}", routes.film, methods=["GET"]),
            Route("/films/{number:int}", routes.cancel_film, methods=["DELETE"]),
        ],
        exception_handlers={FramekilnError: _on_error, ClientDisconnect: _on_disconnect},
    )
    return OwnPagesOnly(app, port, access)


class PreviewRoutes:
    """The routes, in the order of a page's life."""

    def __init__(self, preview: Preview) -> None:
        self._preview = preview

    async def page(self, _request: Request) -> Response:
        """Return the page."""
        return _file_response(assets.page("preview"))

    async def asset(self, request: Request) -> Response:
        """Return a script or a style of the page."""
        return _file_response(assets.asset(request.path_params["name"]))

    async def composition(self, _request: Request) -> Response:
        """Return what the page shows around the frames."""
        return JSONResponse(self._preview.composition(), headers={"Cache-Control": "no-store"})

    async def frame(self, request: Request) -> Response:
        """Return one frame; stop making it if the page does not wait any longer."""
        format_ = request.query_params.get("format", "jpeg")
        if format_ not in get_args(FrameFormat):
            raise InvalidInput(f"format is jpeg or png, not {format_[:20]!r}")
        version, number = request.path_params["version"], request.path_params["number"]
        kind: FrameFormat = "png" if format_ == "png" else "jpeg"
        data = await _while_connected(request, self._preview.frame(version, (number, kind)))
        return Response(data, media_type=_FRAME_TYPES[kind], headers=_FOR_EVER)

    async def sound(self, request: Request) -> Response:
        """Return the sound of a version."""
        making = self._preview.sound(request.path_params["version"])
        data = await _while_connected(request, making)
        return Response(data, media_type="audio/wav", headers=_FOR_EVER)

    async def events(self, _request: Request) -> Response:
        """Stream what happens."""
        events = self._preview.events.listen()
        headers = {"Cache-Control": "no-store"}
        return StreamingResponse(events, media_type="text/event-stream", headers=headers)

    async def set_data(self, request: Request) -> Response:
        """Show the composition with other data."""
        await self._preview.set_data(await _read_object(request))
        return JSONResponse(self._preview.composition())

    async def render(self, request: Request) -> Response:
        """Begin a film, or save the frame that is shown."""
        body = await _read_object(request)
        format_, preset = body.get("format", "mp4"), body.get("preset", RenderPreset.STANDARD)
        if format_ == "png":
            number = body.get("frame", 0)
            if type(number) is not int:
                raise InvalidInput("frame must be a number of a frame", field="frame")
            return JSONResponse((await self._preview.save_picture(number)).as_json(), 201)
        if format_ not in FILM_CONTAINERS:
            names = ", ".join((*FILM_CONTAINERS, "png"))
            raise InvalidInput(f"format must be one of {names}", field="format")
        if preset not in list(RenderPreset):
            names = ", ".join(RenderPreset)
            raise InvalidInput(f"preset must be one of {names}", field="preset")
        film = await self._preview.render(FilmChoice(format_, RenderPreset(preset)))
        return JSONResponse(film.as_json(), 202)

    async def film(self, request: Request) -> Response:
        """Return a film that was rendered here."""
        path = self._preview.films.path(request.path_params["number"])
        return FileResponse(path, headers={"Cache-Control": "no-store"})

    async def cancel_film(self, request: Request) -> Response:
        """Stop a film."""
        self._preview.films.cancel(request.path_params["number"])
        return Response(status_code=204)


def problem_response(error: FramekilnError) -> JSONResponse:
    """Return the response for an error."""
    status = next((status for kind, status in _STATUSES if isinstance(error, kind)), 500)
    issues = error.details.get("issues")
    body = {"error": error.code, "message": error.message, "field": error.details.get("field")}
    if issues is not None:
        body["issues"] = issues
    return JSONResponse(body, status, headers={"Cache-Control": "no-store"})


async def _on_error(_request: Request, error: Exception) -> Response:
    assert isinstance(error, FramekilnError)
    return problem_response(error)


async def _on_disconnect(_request: Request, _error: Exception) -> Response:
    """Answer for the log: nobody reads it."""
    return Response(status_code=_CLIENT_CLOSED)


def _file_response(file: assets.StudioFile) -> Response:
    return Response(file.content, media_type=file.media_type, headers=file.headers)


async def _read_object(request: Request) -> dict[str, Any]:
    if request.headers.get("content-type", "").partition(";")[0] != "application/json":
        raise InvalidInput("send JSON, with Content-Type: application/json")
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > _MAX_BODY_BYTES:
            raise TooLarge(f"the body is larger than {_MAX_BODY_BYTES} bytes")
    try:
        value = json.loads(bytes(body))
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"the body is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise InvalidInput('the body must be a JSON object, such as {"title": "Hello"}')
    return value


async def _while_connected(request: Request, work: Awaitable[T]) -> T:
    """Return the result of `work`, or cancel it when the client disconnects."""
    working = asyncio.ensure_future(work)
    leaving = asyncio.create_task(_disconnected(request.receive))
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ClientDisconnect
        return working.result()
    finally:
        for task in (working, leaving):
            task.cancel()
        with suppress(asyncio.CancelledError, Exception):
            await leaving


async def _disconnected(receive: Callable[[], Awaitable[Any]]) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
