"""The frames inside a page (`<iframe>`): each has its own script context and runtime.

This module only tracks the contexts; the page communicates with them.
"""

from framekiln.capture.cdp import CdpConnection, Params


class InnerFrames:
    """Tracks the contexts of one page, except for its main one. Owned by the page's thread."""

    def __init__(self, connection: CdpConnection, session: str, *, main_frame: str) -> None:
        self._main_frame = main_frame
        self._contexts: dict[str, int] = {}
        self._new: list[str] = []
        listeners = {
            "Runtime.executionContextCreated": self._on_created,
            "Runtime.executionContextDestroyed": self._on_destroyed,
            "Runtime.executionContextsCleared": self._on_cleared,
        }
        for event, listener in listeners.items():
            connection.listen(event, session, listener)

    def contexts(self) -> list[str]:
        """Return the current contexts."""
        return list(self._contexts)

    def find(self, number: int) -> str | None:
        """Return the context with the number in an event; None for the page's own."""
        return next((name for name, known in self._contexts.items() if known == number), None)

    def take_new(self) -> list[str]:
        """Return the contexts that were added since the last call and still exist."""
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
