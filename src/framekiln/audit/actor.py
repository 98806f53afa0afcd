"""Who acts: known once for a request or a command, and read where the change is written.

A context variable, because an actor would otherwise be a parameter of every method of every domain.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from framekiln.audit.model import Actor, ActorType

_SERVICE: Final = Actor(ActorType.SERVICE)
_current: ContextVar[Actor] = ContextVar("actor", default=_SERVICE)


def current_actor() -> Actor:
    """Return who acts now; the service itself, unless it is known better."""
    return _current.get()


def name_actor(actor_type: ActorType, actor_id: str | None, name: str | None = None) -> None:
    """Say who acts from here on; the network address is kept."""
    _current.set(Actor(actor_type, actor_id, name, _current.get().address))


@contextmanager
def acting(actor: Actor) -> Iterator[None]:
    """Let somebody act until the block ends."""
    token = _current.set(actor)
    try:
        yield
    finally:
        _current.reset(token)
