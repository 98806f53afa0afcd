"""The version of the content at a URL, so that parts fetched separately fit together."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from framekiln.kit.errors import RemoteFailed

_PARTIAL: Final = 206
_CONTENT_RANGE: Final = re.compile(r"bytes ([0-9]{1,15})-([0-9]{1,15})/([0-9]{1,15})")


class SourceChanged(RemoteFailed):
    """The content at a URL changed since the first read."""

    code = "source_changed"
    retryable = False


@dataclass(frozen=True)
class ContentVersion:
    """The version that a server reports; parts with an equal version belong together."""

    size_bytes: int
    etag: str | None
    modified: str | None

    @property
    def is_certain(self) -> bool:
        """Whether a change would be detected; a size alone is not enough."""
        return bool(self.etag or self.modified)

    @property
    def condition(self) -> str | None:
        """The value for `If-Range`; never a weak tag."""
        is_strong = self.etag is not None and not self.etag.startswith("W/")
        return self.etag if is_strong else self.modified

    def check(self, found: "ContentVersion | None", host: str) -> None:
        """Raise `SourceChanged` unless `found` is the same version."""
        if found != self:
            raise SourceChanged(
                f"{host}: the source changed while a film was made from it, so its parts do not"
                " fit together. Do not change it until the render has ended, or upload it and"
                " name it by file-id.",
                host=host,
            )


def version_of_part(status: int, headers: Mapping[str, str], start: int) -> ContentVersion | None:
    """Return the version of a part; None if the response is not the part that begins at `start`."""
    matched = _CONTENT_RANGE.fullmatch(headers.get("content-range", "").strip())
    if status != _PARTIAL or matched is None or int(matched[1]) != start:
        return None
    return ContentVersion(int(matched[3]), headers.get("etag"), headers.get("last-modified"))
