"""Addresses that no route can take: U+0000 in them is no text, and no database keeps it."""

from starlette.types import ASGIApp, Receive, Scope, Send

from framekiln.api.errors import Family, Issue, Problem, family_of, write_problem


class RefuseNul:
    """ASGI middleware: nothing is at a path with U+0000, and no query may have it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        problem = _problem(scope) if scope["type"] == "http" else None
        answer = self._app if problem is None else write_problem(scope, problem)
        await answer(scope, receive, send)


def _problem(scope: Scope) -> Problem | None:
    if "\0" in scope["path"]:
        return Problem(404, "not_found", "there is nothing at an address with U+0000 in it")
    if b"%00" not in scope["query_string"]:
        return None
    status = 400 if family_of(scope["path"]) is Family.V1 else 422
    message = "the query holds the character U+0000, which no text may have"
    return Problem(status, "invalid_request", message, issues=[Issue("", "invalid", message)])
