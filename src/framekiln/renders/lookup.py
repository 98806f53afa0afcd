"""What other packages read of renders, each in a transaction of its own."""

from framekiln.renders.store import find as find_render
from framekiln.renders.store import find_all as find_renders
from framekiln.renders.store import lock as lock_render

__all__ = ["find_render", "find_renders", "lock_render"]
