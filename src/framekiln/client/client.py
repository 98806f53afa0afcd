"""The client of one service with one API key. Synchronous; close it, or use it in a `with`."""

from typing import Any, Self

from framekiln.client.connection import ServiceConnection
from framekiln.client.files import RemoteFiles
from framekiln.client.links import RemoteLinks
from framekiln.client.pipelines import (
    RemoteBatches,
    RemoteEndpoints,
    RemotePipelines,
    RemoteReviews,
    RemoteRuns,
)
from framekiln.client.renders import RemoteRenders
from framekiln.client.transcriptions import RemoteTranscriptions
from framekiln.client.webhooks import RemoteWebhooks


class Client:
    """The service at `base_url`; `options` are those of `ServiceConnection`."""

    def __init__(self, base_url: str, api_key: str, **options: Any) -> None:
        self.base_url = base_url
        self._connection = ServiceConnection(base_url, api_key, **options)
        self.files = RemoteFiles(self._connection)
        self.renders = RemoteRenders(self._connection)
        self.transcriptions = RemoteTranscriptions(self._connection)
        self.pipelines = RemotePipelines(self._connection)
        self.endpoints = RemoteEndpoints(self._connection)
        self.runs = RemoteRuns(self._connection)
        self.batches = RemoteBatches(self._connection)
        self.reviews = RemoteReviews(self._connection)
        self.links = RemoteLinks(self._connection)
        self.webhooks = RemoteWebhooks(self._connection)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close open connections."""
        self._connection.close()
