"""What a page with a runtime of its own asks its service for, whatever host it names.

Such a page plays in an editor, too, where a service stands behind it. While it is filmed nobody
does but us: pictures and captions by address are answered, reports are swallowed, and what is not
here is said to be missing.
"""

from collections.abc import Callable
from typing import Final

from framekiln.capture.network import Resource
from framekiln.kit.errors import InvalidInput, NotFound

API_PREFIX: Final = "/api/v1/"
Fetch = Callable[[str], Resource]


def answer_api(path: str, src: str | None, *, image: Fetch, captions: Fetch) -> Resource:
    """Answer a request below `API_PREFIX`, or raise why it cannot be."""
    if path == "telemetry" or path.startswith("telemetry/"):
        return Resource(b"", "text/plain", status=204)
    answers = {"assets/image": image, "assets/captions": captions}
    if path not in answers:
        raise NotFound(f"{API_PREFIX}{path[:200]} is not answered while a page is filmed")
    if src is None:
        raise InvalidInput(f"{API_PREFIX}{path} needs src")
    return answers[path](src)
