"""Signed URLs of a run's media, which need no API key until they expire (spec 4.7, 5)."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final
from urllib.parse import urlencode

from framekiln.files.model import File, FileStatus
from framekiln.identity.signatures.tokens import MEDIA_TOKEN_LIFETIME, AccessTokens
from framekiln.pipelines.definition.windows import Window

MAX_FRAMES: Final = 1000
_STREAM: Final = "stream/media.mp4"


class MediaUrls:
    """Signs one token per request, for a file and all its parts."""

    def __init__(self, tokens: AccessTokens, *, public_url: str) -> None:
        self._tokens = tokens
        self._public_url = public_url

    async def sign(
        self,
        file: File,
        *,
        tracks: Sequence[Mapping[str, Any]],
        frames_ms: Sequence[int],
        window: Window | None,
        now: datetime,
    ) -> dict[str, Any]:
        """Return `media` of a request. Media that is not available is null.

        While the file is arriving, the media of the window is available.
        """
        expires_at = media_expiry(file, now)
        path = f"/api/v1/files/{file.id}"
        token = await self._tokens.sign_media(file.organization_id, path, expires_at)
        query = urlencode({"media_token": token})

        def url(part: str, **params: int) -> str:
            more = f"{urlencode(params)}&" if params else ""
            return f"{self._public_url}{path}/{part}?{more}{query}"

        audio = next((each["track_id"] for each in tracks if each["type"] == "audio"), None)
        return {
            "expires_at": expires_at.isoformat(),
            **(
                _ready_urls(url, file, audio)
                if file.status is FileStatus.READY
                else _window_urls(url, window, audio)
            ),
            "frames": [
                {"t_ms": at_ms, "url": url(f"frames/{at_ms}.jpg")}
                for at_ms in sample_evenly(frames_ms)
            ],
        }


def _ready_urls(url: Callable[..., str], file: File, audio: int | None) -> dict[str, str | None]:
    return {
        "source_url": url("content") if file.has_source else None,
        "index_url": url("index"),
        "audio_url": None if audio is None else url(f"tracks/{audio}"),
    }


def _window_urls(
    url: Callable[..., str], window: Window | None, audio: int | None
) -> dict[str, str | None]:
    """Return URLs that work now and also when the file is ready."""
    if window is None:
        return dict.fromkeys(("source_url", "index_url", "audio_url"))
    span = {"from_ms": window.media_start_ms, "to_ms": window.end_ms}
    return {
        "source_url": url(_STREAM, **span),
        # An index describes complete track files, and these still grow.
        "index_url": None,
        "audio_url": None if audio is None else url(_STREAM, **span, track_id=audio),
    }


def media_expiry(file: File, now: datetime) -> datetime:
    """Return when the URLs expire: after four hours, or with the file."""
    latest = (now + MEDIA_TOKEN_LIFETIME).replace(microsecond=0)
    return min(latest, file.expires_at) if file.expires_at is not None else latest


def sample_evenly(times_ms: Sequence[int]) -> list[int]:
    """Return at most 1000 of the times, evenly spread over the file."""
    count = len(times_ms)
    if count <= MAX_FRAMES:
        return list(times_ms)
    return [times_ms[number * count // MAX_FRAMES] for number in range(MAX_FRAMES)]
