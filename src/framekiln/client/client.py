"""The clients of one service with one API key: `Client`, and `AsyncClient` for asyncio."""

from typing import Any, Generic, Self

from framekiln.client.bulks import RemoteBulks
from framekiln.client.connection import AsyncServiceConnection, ServiceConnection
from framekiln.client.files import RemoteFiles
from framekiln.client.links import RemoteLinks
from framekiln.client.operations import Connection_co
from framekiln.client.organization import RemoteOrganizationPart
from framekiln.client.pipelines import (
    RemoteBatches,
    RemoteEndpoints,
    RemotePipelines,
    RemoteReviews,
    RemoteRuns,
)
from framekiln.client.playback import RemotePlayback
from framekiln.client.renders import RemoteRenders
from framekiln.client.templates import RemoteTemplates
from framekiln.client.transcriptions import RemoteTranscriptions
from framekiln.client.videos import RemoteVideos
from framekiln.client.webhooks import RemoteWebhooks


class RemoteService(Generic[Connection_co]):
    """All parts of a client."""

    def __init__(self, connection: Connection_co) -> None:
        self.files = RemoteFiles(connection)
        self.renders = RemoteRenders(connection)
        self.videos = RemoteVideos(connection)
        self.templates = RemoteTemplates(connection)
        self.bulks = RemoteBulks(connection)
        self.transcriptions = RemoteTranscriptions(connection)
        self.pipelines = RemotePipelines(connection)
        self.endpoints = RemoteEndpoints(connection)
        self.runs = RemoteRuns(connection)
        self.batches = RemoteBatches(connection)
        self.reviews = RemoteReviews(connection)
        self.links = RemoteLinks(connection)
        self.playback = RemotePlayback(connection)
        self.webhooks = RemoteWebhooks(connection)
        self.organization = RemoteOrganizationPart(connection)


class Client(RemoteService[ServiceConnection]):
    """The service at `base_url`; `options` are those of `ServiceConnection`.

    Close it, or use it in a `with`.
    """

    def __init__(self, base_url: str, api_key: str, **options: Any) -> None:
        self.base_url = base_url
        self._connection = ServiceConnection(base_url, api_key, **options)
        super().__init__(self._connection)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close open connections."""
        self._connection.close()


class AsyncClient(RemoteService[AsyncServiceConnection]):
    """The same methods for asyncio: await them, and use `async for` with lists.

    Close it, or use it in an `async with`.
    """

    def __init__(self, base_url: str, api_key: str, **options: Any) -> None:
        self.base_url = base_url
        self._connection = AsyncServiceConnection(base_url, api_key, **options)
        super().__init__(self._connection)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close open connections."""
        await self._connection.close()
