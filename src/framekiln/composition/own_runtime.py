"""Whether a bundle brings a runtime for its elements, told by the words of its files. Pure.

It must be known before the page is loaded: ours keeps the names of all elements to itself, and
would have to be in place first.
"""

from collections.abc import Iterable
from typing import Final

# How such a runtime is driven: by the object it looks for, or by the one it offers. Minifiers leave
# both alone. That a page only waits for elements (EF_REGISTERED) says nothing: it may be for ours.
_WORDS: Final = (b"FRAMEGEN_BRIDGE", b"EF_FRAMEGEN")


def brings_own_runtime(texts: Iterable[bytes]) -> bool:
    """Tell whether any of a bundle's pages and scripts can be driven by itself."""
    return any(word in text for text in texts for word in _WORDS)
