"""A link, and what it leads to. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, NewType
from urllib.parse import quote, urlencode
from uuid import UUID

from framekiln.identity.signatures.scope import Scope, split_path
from framekiln.kit.ids import ApiKeyId, OrganizationId, UserId

LinkId = NewType("LinkId", UUID)

DEFAULT_LIFETIME: Final = timedelta(days=1)
MAX_LIFETIME: Final = timedelta(days=365)
PREFIX: Final = "/l/"
"""What the paths of all links begin with."""
MAX_LINKS: Final = 100_000
"""How many links of an organization may be valid at a time."""

_PLAYLIST: Final = ".m3u8"


@dataclass(frozen=True)
class LinkTarget:
    """The address that a link leads to: segments of its path, decoded, and its query."""

    segments: Sequence[str]
    params: Mapping[str, Sequence[str]]

    @classmethod
    def of(cls, scope: Scope, *, without: str) -> "LinkTarget":
        """Return the target for an address, without the value of one parameter."""
        params = {name: values for name, values in scope.params.items() if name != without}
        return cls(scope.segments, params)

    @property
    def name(self) -> str:
        """The last segment, encoded: what the link ends with."""
        return quote(self.segments[-1], safe="")

    @property
    def path(self) -> str:
        """The path as the router sees it."""
        return "/" + "/".join(self.segments)

    @property
    def query(self) -> str:
        """The query, encoded."""
        return urlencode(self.params, doseq=True)

    @property
    def address(self) -> str:
        """Path and query, encoded."""
        return quote(self.path) + (f"?{self.query}" if self.params else "")

    def find_path(self, rest: str) -> str | None:
        """Return the path for what follows the token in a link; None if it is not covered.

        Addresses in playlists are relative, so what follows the token is relative to the folder of
        the target.
        """
        found = split_path(f"/{rest}")
        if not found:
            return None
        asked = (*self.segments[:-1], *found)
        folder = self._stream_folder
        is_below = (
            folder is not None and len(asked) > len(folder) and asked[: len(folder)] == folder
        )
        return "/" + "/".join(asked) if asked == tuple(self.segments) or is_below else None

    @property
    def _stream_folder(self) -> tuple[str, ...] | None:
        """The folder of the segments, if the target is a playlist or a manifest."""
        *parents, name = self.segments
        if name.startswith("manifest.") or name == f"playlist{_PLAYLIST}":
            return tuple(parents)
        if name.endswith(_PLAYLIST):
            return (*parents, name.removesuffix(_PLAYLIST))
        return (*parents, name) if name == "stream" else None


@dataclass(frozen=True)
class Link:
    """A stored link."""

    id: LinkId
    position: int
    """Its place in the list."""
    organization_id: OrganizationId
    api_key_id: ApiKeyId | None
    """The key that it depends on."""
    target: LinkTarget
    created_at: datetime
    expires_at: datetime
    revoked_at: datetime | None


@dataclass(frozen=True)
class NewLink:
    """A link to be made."""

    organization_id: OrganizationId
    api_key_id: ApiKeyId | None
    """The key that it depends on."""
    target: LinkTarget
    user_id: UserId | None = None
    """The user that it depends on: it is gone when that user leaves the organization."""
    lifetime: timedelta = DEFAULT_LIFETIME
