"""Whether strangers' pages and media are confined well enough on this machine: the definition.

Pages need namespaces and seccomp (bubblewrap). Media needs namespaces or Landlock, and seccomp, and
a user other than root. What is missing is described in words, for the refusal of commands and
the record of renders.
"""

from functools import cache

from framekiln.capture.sandbox import strongest_confinement
from framekiln.kit.confined.sandbox import strongest_sandbox


@cache
def missing_confinement(*, has_pages: bool = True) -> tuple[str, ...]:
    """Return what is missing, for pages (if they are opened here) and media; tested once."""
    media = tuple(f"media: {each}" for each in strongest_sandbox().missing)
    if not has_pages or strongest_confinement().is_enough:
        return media
    return ("pages: namespaces and seccomp, which bubblewrap applies", *media)
