"""The HTTP interface for pages with a runtime of their own, while they are rendered.

Answers a player's requests from the same domains, with the same JSON, for the organization of the
render. Nothing changes here. Sources given by URL, uploads among them, are played from their files,
see `playback/page_player.py`.
"""

import asyncio
import json
import re
from collections.abc import Callable, Coroutine, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Final

from framekiln.capture.network import Resource
from framekiln.engine.assets import FILE_ID, LocalAsset
from framekiln.engine.page_api import PageRoutes
from framekiln.files.ids import parse_file_id, parse_track_id
from framekiln.files.model import File, FileType, source_key, track_key
from framekiln.files.representation import file_detail
from framekiln.kit.cancellation import wait_for_result
from framekiln.kit.errors import InvalidInput
from framekiln.kit.ids import OrganizationId
from framekiln.playback.page_player import PagePlayer
from framekiln.services import Services
from framekiln.speech.captions import to_page_captions
from framekiln.storage.blob_store import BlobStore
from framekiln.transcripts.documents import transcription_document_for_file
from framekiln.transcripts.model import fragment_number_of, transcription_id_of

Query = Mapping[str, str]

_RESPONSE_TIMEOUT_S: Final = 300.0
_JSON: Final = "application/json"
_UNKNOWN: Final = "application/octet-stream"
_INDEX: Final = re.compile("files/([^/]+)/index")
# Others hold no codec whose transparency we decode; reading an original may mean to download it.
_TRANSPARENT_TYPES: Final = ("video/webm", "video/x-matroska", "video/quicktime", "image/gif")


@dataclass(frozen=True)
class BlobContent:
    """A blob as a response body; read in parts from the film's thread."""

    blobs: BlobStore
    key: str
    size_bytes: int
    loop: asyncio.AbstractEventLoop

    def read(self, start: int, end: int) -> bytes:
        """Return a part of it."""
        future = asyncio.run_coroutine_threadsafe(self._read(start, end), self.loop)
        return wait_for_result(future, _RESPONSE_TIMEOUT_S)

    async def _read(self, start: int, end: int) -> bytes:
        async with aclosing(self.blobs.stream(self.key, start=start, end=end)) as chunks:
            return b"".join([chunk async for chunk in chunks])


@dataclass(frozen=True)
class PageService:
    """Answers for one organization: called in the film's thread, runs in the worker's loop."""

    services: Services
    organization_id: OrganizationId
    loop: asyncio.AbstractEventLoop
    player: PagePlayer

    def play(self, path: str, query: Query, source: LocalAsset) -> Resource | None:
        """Return the resource at a path of the interface, for a source given by URL."""
        return self.player.play(path, query, source)

    def answer(self, path: str, query: Query) -> Resource | None:
        """Return the resource at a path of the interface; blocks the film's thread."""
        if (found := _ROUTES.find(path)) is None:
            return None
        route, parts = found
        response = route(self, query, *parts)
        future = asyncio.run_coroutine_threadsafe(response, self.loop)
        return wait_for_result(future, _RESPONSE_TIMEOUT_S)

    def original_of(self, path: str) -> str | None:
        """Return the address of an upload whose tracks are requested and may lack transparency."""
        if (match := _INDEX.fullmatch(path)) is None:
            return None
        future = asyncio.run_coroutine_threadsafe(self._readable(match[1]), self.loop)
        file = wait_for_result(future, _RESPONSE_TIMEOUT_S)
        is_suspect = file.has_source and file.media_type in _TRANSPARENT_TYPES
        return f"{FILE_ID}{file.id}" if is_suspect else None

    async def file(self, _query: Query, file_id: str) -> Resource:
        """Return the content of a picture or caption file, or the metadata of a video."""
        files = self.services.files
        file = await files.get(self.organization_id, parse_file_id(file_id))
        if file.type is FileType.VIDEO:
            return _json(file_detail(file, await files.tracks(file.organization_id, file.id)))
        files.check_readable(file)
        key = source_key(file.organization_id, file.id)
        return Resource(await self.services.blobs.get(key), file.media_type or _UNKNOWN)

    async def index(self, _query: Query, file_id: str) -> Resource:
        """Return the fragment index of a video."""
        file = await self._readable(file_id)
        return Resource(await self.services.blobs.get(file.index_key), _JSON)

    async def track(self, _query: Query, file_id: str, track_id: str) -> Resource:
        """Return a track, which is read from the store in parts."""
        number = parse_track_id(track_id)
        file = await self._readable(file_id)
        track = await self.services.files.complete_track(file, number)
        key = track_key(file.organization_id, file.id, number)
        content = BlobContent(self.services.blobs, key, track.byte_size, self.loop)
        return Resource(content, f"{track.type}/mp4")

    async def transcription(self, _query: Query, file_id: str) -> Resource:
        """Return the newest transcription of a file."""
        found = await self.services.transcripts.newest(self.organization_id, parse_file_id(file_id))
        return _json(transcription_document_for_file(found))

    async def fragment(self, _query: Query, transcription_id: str, number: str) -> Resource:
        """Return the captions of one slice of a file."""
        transcripts = self.services.transcripts
        found = await transcripts.get(self.organization_id, transcription_id_of(transcription_id))
        captions = await transcripts.fragment(found, fragment_number_of(number))
        return _json(to_page_captions(captions))

    async def unnamed(self, _query: Query, _rest: str) -> Resource:
        """Refuse to play what has no address; sources with one are played from their files."""
        raise InvalidInput("url: name the source that is played", field="url")

    async def _readable(self, file_id: str) -> File:
        file = await self.services.files.get(self.organization_id, parse_file_id(file_id))
        self.services.files.check_readable(file)
        return file


_ROUTES: Final[PageRoutes[Callable[..., Coroutine[Any, Any, Resource]]]] = PageRoutes(
    (r"files/*", PageService.file),
    (r"files/*/index", PageService.index),
    (r"files/*/tracks/*", PageService.track),
    (r"files/*/transcription", PageService.transcription),
    (r"transcriptions/*/fragments/*", PageService.fragment),
    (r"transcode/(.+)", PageService.unnamed),
)


def _json(value: dict[str, Any]) -> Resource:
    return Resource(json.dumps(value).encode(), _JSON)
