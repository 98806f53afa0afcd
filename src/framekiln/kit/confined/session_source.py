"""A source that a session has open in its child, as the parent sees it."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn, Protocol

from framekiln.kit.confined.channel import InvalidAnswer
from framekiln.kit.confined.slots import SharedSlots
from framekiln.kit.errors import FramekilnError, Unavailable
from framekiln.kit.ranged_path import MAX_AHEAD, RangedPath, SparseCopy


class SourceOwner(Protocol):
    """The session of a source."""

    def ask(self, source: "SessionSource", request: dict[str, Any]) -> dict[str, Any]:
        """Send one request about a source and return the answer."""
        ...

    def share(self, source: "SessionSource") -> None:
        """Give the child the memory of a source."""
        ...

    def forget(self, source: "SessionSource") -> None:
        """Close a source in the child."""
        ...

    def fail(self, source: "SessionSource", what: str) -> NoReturn:
        """Kill the child and raise an error about the source."""
        ...


class SessionSource:
    """A source that is open in a session, or opened again when it is needed."""

    def __init__(
        self,
        session: SourceOwner,
        number: int,
        kind: str,
        path: Path,
        args: dict[str, Any],
        name: str,
    ) -> None:
        self.number = number
        self.kind = kind
        self.path = path
        self.args = args
        self.name = name
        self.facts: dict[str, Any] = {}
        """What the child reported when it opened the source. Not trusted: check before use."""
        self.memory: SharedSlots | None = None
        """None while it is closed in the child."""
        self.slot_bytes = self.slots = 0
        self._session = session

    @property
    def shared_bytes(self) -> int:
        """The size of its memory."""
        return self.slot_bytes * self.slots

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """Send a request and return the answer. Not trusted: check before use."""
        return self._session.ask(self, request)

    def share(self, *, slot_bytes: int, slots: int) -> None:
        """Make memory that the child may write, for frames or samples."""
        self.slot_bytes, self.slots = slot_bytes, slots
        self._session.share(self)

    def slot(self, answer: Mapping[str, Any]) -> memoryview:
        """Return the slot that an answer names; raise if there is none such.

        It stays as it is until the child has written all the others.
        """
        number = answer.get("slot")
        assert self.memory is not None, "call `share` first"
        if type(number) is not int or not 0 <= number < self.memory.slots:
            self.refuse("no such slot")
        return self.memory.slot(number)

    def refuse(self, why: str) -> NoReturn:
        """Raise for an answer that is wrong; the child is killed."""
        self._session.fail(self, f"gave an invalid answer: {why}")

    def close(self) -> None:
        """Close it in the child, and free the memory once nobody uses its slots."""
        self._session.forget(self)
        self.memory = None

    def open_file(self) -> int:
        """Return a descriptor of the file, for the child."""
        blocks = self._sparse_copy()
        if blocks is not None:
            return blocks.open()
        return os.open(self.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)

    def present(self) -> str | None:
        """Return which blocks of a remote file are present; None for a whole file."""
        blocks = self._sparse_copy()
        return None if blocks is None else blocks.present().hex()

    def fetch(self, asked: object) -> tuple[int | None, FramekilnError | None]:
        """Fetch a block that the child asked for; return the end of the present blocks."""
        blocks = self._sparse_copy()
        match asked:
            case [self.number, int(block), int(ahead)] if blocks is not None:
                count = len(blocks.present())
                if not 0 <= block < count or not 1 <= ahead <= MAX_AHEAD:
                    raise InvalidAnswer("it asked for a part outside of the source")
            case _:
                raise InvalidAnswer("it asked for a part of another source")
        try:
            return blocks.fetch(block, ahead), None
        except FramekilnError as error:
            return None, error
        except OSError as error:
            # The copy is ours: neither the child nor the source is to blame.
            reason = error.strerror or type(error).__name__
            return None, Unavailable(
                f"{self.name}: a part of it could not be stored: {reason}; check that the disk of"
                " the service is not full, then try again"
            )

    def _sparse_copy(self) -> SparseCopy | None:
        blocks = self.path.blocks if isinstance(self.path, RangedPath) else None
        return blocks if isinstance(blocks, SparseCopy) else None
