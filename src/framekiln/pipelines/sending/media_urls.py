"""Addresses of a run's media that need no API key, for a while (spec 4.7, 5)."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final
from urllib.parse import urlencode

from framekiln.files.model import File, FileStatus
from framekiln.identity.signing.tokens import MEDIA_TOKEN_LIFETIME, Tokens

MAX_FRAMES: Final = 1000


class MediaUrls:
    """Signs one token for a file, and everything of it, with each request."""

    def __init__(self, tokens: Tokens, *, public_url: str) -> None:
        self._tokens = tokens
        self._public_url = public_url

    async def of(
        self,
        file: File,
        *,
        tracks: Sequence[Mapping[str, Any]],
        frames_ms: Sequence[int],
        now: datetime,
    ) -> dict[str, Any]:
        """Return `media` of a request. What is not there yet, or never will be, is null."""
        expires_at = expiry(file, now)
        path = f"/api/v1/files/{file.id}"
        token = await self._tokens.sign_media(file.organization_id, path, expires_at)
        query = urlencode({"media_token": token})

        def url(below: str) -> str:
            return f"{self._public_url}{path}/{below}?{query}"

        is_ready = file.status is FileStatus.READY
        audio = next((each["track_id"] for each in tracks if each["type"] == "audio"), None)
        return {
            "expires_at": expires_at.isoformat(),
            "source_url": url("content") if is_ready and file.has_source else None,
            "index_url": url("index") if is_ready else None,
            "audio_url": url(f"tracks/{audio}") if is_ready and audio is not None else None,
            "frames": [
                {"t_ms": at_ms, "url": url(f"frames/{at_ms}.jpg")} for at_ms in spread(frames_ms)
            ],
        }


def expiry(file: File, now: datetime) -> datetime:
    """Return until when media can be fetched: four hours, or as long as the file is there."""
    latest = (now + MEDIA_TOKEN_LIFETIME).replace(microsecond=0)
    return min(latest, file.expires_at) if file.expires_at is not None else latest


def spread(times_ms: Sequence[int]) -> list[int]:
    """Return at most 1000 of some instants, evenly chosen, so that all of the film is seen."""
    count = len(times_ms)
    if count <= MAX_FRAMES:
        return list(times_ms)
    return [times_ms[number * count // MAX_FRAMES] for number in range(MAX_FRAMES)]
