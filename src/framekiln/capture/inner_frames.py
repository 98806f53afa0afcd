"""The frames inside a page (`<iframe>`): each has a script context and a runtime of its own.

Knows only which contexts there are; what is said to them is the page's affair.
"""

from framekiln.capture.cdp import CdpConnection, Params


class InnerFrames:
    """Keeps track of the contexts of one page, the page's own excepted. Owned by its thread."""

    def __init__(self, connection: CdpConnection, session: str, *, main_frame: str) -> None:
        self._main_frame = main_frame
        self._contexts: dict[str, int] = {}
        self._new: list[str] = []
        heard = {
            "Runtime.executionContextCreated": self._on_created,
            "Runtime.executionContextDestroyed": self._on_destroyed,
            "Runtime.executionContextsCleared": self._on_cleared,
        }
        for event, listener in heard.items():
            connection.listen(event, session, listener)

    def contexts(self) -> list[str]:
        """Return the contexts that are there now."""
        return list(self._contexts)

    def find(self, number: int) -> str | None:
        """Return the context that events call by a number; None for the page's own."""
        return next((name for name, known in self._contexts.items() if known == number), None)

    def take_new(self) -> list[str]:
        """Return the contexts that came since the last call and are still there."""
        new = [context for context in self._new if context in self._contexts]
        self._new.clear()
        return new

    def _on_created(self, params: Params) -> None:
        context = params["context"]
        facts = context.get("auxData", {})
        if facts.get("isDefault") and facts.get("frameId") != self._main_frame:
            self._contexts[context["uniqueId"]] = context["id"]
            self._new.append(context["uniqueId"])

    def _on_destroyed(self, params: Params) -> None:
        self._contexts.pop(params["executionContextUniqueId"], None)

    def _on_cleared(self, _params: Params) -> None:
        self._contexts.clear()
