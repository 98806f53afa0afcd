"""The URLs inside manifests. Pure.

Every URL repeats the query of the manifest: the source, so that one token is valid for all URLs,
and the media token, for players that cannot send headers. Playlists have relative URLs, which work
behind any proxy. The JSON manifest has absolute ones, because its reader has no base URL.

Whoever reads by a link gets URLs without a query: the link knows the source, whose URL may be a
secret of its owner.
"""

from dataclasses import dataclass
from urllib.parse import quote, urlencode

ROUTE = "/api/v1/transcode"


@dataclass(frozen=True)
class ManifestLinks:
    """URLs for one source, relative to the manifest."""

    url: str
    media_token: str | None = None
    link_url: str | None = None
    """The URL of the manifest's folder, if it is read by a link."""

    @property
    def query(self) -> str:
        """The part from the question mark on."""
        if self.link_url is not None:
            return ""
        pairs = [("url", self.url)]
        if self.media_token:
            pairs.append(("media_token", self.media_token))
        return "?" + urlencode(pairs, quote_via=quote, safe="")

    def in_rendition(self, name: str) -> str:
        """Return a URL relative to a playlist of the same rendition."""
        return f"{name}{self.query}"

    def from_manifest(self, rendition_id: str, name: str) -> str:
        """Return a URL relative to a manifest of the whole source."""
        return f"{rendition_id}/{name}{self.query}"

    def absolute(self, public_url: str, path: str) -> str:
        """Return an absolute URL; braces in `path` are kept."""
        return f"{self.base_url(public_url)}/{path}{self.query}"

    def base_url(self, public_url: str) -> str:
        """Return what all absolute URLs begin with."""
        return f"{public_url}{ROUTE}" if self.link_url is None else self.link_url
