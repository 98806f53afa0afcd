"""/ and /studio: the dashboard. Its pages use the API with the session of the browser."""

from fastapi import APIRouter
from fastapi.responses import Response

from framekiln.studio import assets

router = APIRouter(include_in_schema=False)


@router.get(assets.PREFIX + "{name}")
async def get_asset(name: str) -> Response:
    """Return a script or style."""
    return _response(assets.asset(name))


@router.get("/studio/player.js")
async def get_player() -> Response:
    """Return the script of the embeddable player."""
    return _response(assets.player())


async def show_dashboard() -> Response:
    """Return the page; its script shows what the address names."""
    return _response(assets.page("app"))


# Not one route with a `:path`: the index of routes would try it for every request.
for _path in (
    "/",
    "/studio",
    "/studio/{page}",
    "/studio/{page}/{id}",
    "/studio/{page}/{id}/{part}",
):
    router.add_api_route(_path, show_dashboard, methods=["GET"])


def _response(file: assets.StudioFile) -> Response:
    return Response(file.content, media_type=file.media_type, headers=file.headers)
