"""What other packages read or lock of renders, in a transaction of theirs."""

from framekiln.renders.store import find as find_render
from framekiln.renders.store import find_all as find_renders
from framekiln.renders.store import find_progress
from framekiln.renders.store import lock as lock_render

__all__ = ["find_progress", "find_render", "find_renders", "lock_render"]
