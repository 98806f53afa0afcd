"""The addresses inside manifests. Pure.

Every address repeats the query of the manifest: the source, so that one token is valid for all
addresses, and the media token, for players that cannot send headers. Playlists have relative
addresses, which work behind any proxy. The JSON manifest has absolute ones, because its reader has
no base.
"""

from dataclasses import dataclass
from urllib.parse import quote, urlencode

ROUTE = "/api/v1/transcode"


@dataclass(frozen=True)
class ManifestLinks:
    """Addresses for one source, as seen from the manifest."""

    url: str
    media_token: str | None = None

    @property
    def query(self) -> str:
        """What stands behind the question mark."""
        pairs = [("url", self.url)]
        if self.media_token:
            pairs.append(("media_token", self.media_token))
        return urlencode(pairs, quote_via=quote, safe="")

    def in_rendition(self, name: str) -> str:
        """Return a relative address, seen from a playlist of the same rendition."""
        return f"{name}?{self.query}"

    def from_manifest(self, rendition_id: str, name: str) -> str:
        """Return a relative address, seen from a manifest of the whole source."""
        return f"{rendition_id}/{name}?{self.query}"

    def absolute(self, public_url: str, path: str) -> str:
        """Return an absolute address; braces in `path` are kept."""
        return f"{public_url}{ROUTE}/{path}?{self.query}"
