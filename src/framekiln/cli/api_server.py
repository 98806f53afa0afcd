"""The HTTP server of the api process; only that process imports it."""

import asyncio
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import cast

import uvicorn
from fastapi import FastAPI

from framekiln.api.connections import ConnectionLimits, ConnectionTable
from framekiln.cli.port import Socket, keep_backlog, take_listener
from framekiln.cli.signals import END_WITHIN_S, on_stop_signal
from framekiln.settings import Settings

# Open progress streams would delay the shutdown for as long as renders take.
_LAST_ANSWERS_WITHIN_S = 5


class ApiServer(uvicorn.Server):
    """uvicorn without its signal handling, which would skip the cleanup of the service."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Let our own handler stop the server."""
        on_stop_signal(self._end, end_within_s=END_WITHIN_S)
        yield

    async def startup(self, sockets: "list[Socket] | None" = None) -> None:
        """Begin to accept connections."""
        await super().startup(sockets)
        for listener in sockets or ():
            keep_backlog(listener)

    def _end(self, _number: signal.Signals) -> None:
        self.should_exit = True


async def serve_app(app: FastAPI, settings: Settings, listeners: Sequence[int] = ()) -> None:
    """Serve requests until a stop signal, at the address in the settings or on open sockets."""
    table = ConnectionTable(ConnectionLimits.of(settings))
    watching = asyncio.create_task(table.watch())
    try:
        config = server_config(app, settings)
        # uvicorn calls it as it would a class.
        config.http = cast(type[asyncio.Protocol], table.protocol)
        sockets = [take_listener(number) for number in listeners]
        if sockets:
            # Accept one connection at a time: others may be free for the next.
            config.backlog = 1
        await ApiServer(config).serve(sockets or None)
    finally:
        watching.cancel()


def server_config(app: FastAPI, settings: Settings) -> uvicorn.Config:
    """Return how the application is served."""
    return uvicorn.Config(
        app,
        ws="none",
        timeout_keep_alive=settings.keep_alive_s,
        host=settings.host,
        port=settings.port,
        log_config=None,
        access_log=False,
        # By default, uvicorn believes the headers of every program on this machine.
        proxy_headers=bool(settings.trusted_proxies),
        forwarded_allow_ips=sorted(settings.trusted_proxies),
        timeout_graceful_shutdown=_LAST_ANSWERS_WITHIN_S,
    )
