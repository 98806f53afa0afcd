"""The HTTP server of the api process; only that process imports it."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from fastapi import FastAPI

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

    def _end(self, _number: signal.Signals) -> None:
        self.should_exit = True


async def serve_app(app: FastAPI, settings: Settings) -> None:
    """Serve requests until a stop signal."""
    await ApiServer(server_config(app, settings)).serve()


def server_config(app: FastAPI, settings: Settings) -> uvicorn.Config:
    """Return how the application is served."""
    return uvicorn.Config(
        app,
        host=settings.host,
        port=settings.port,
        log_config=None,
        access_log=False,
        # By default, uvicorn believes the headers of every program on this machine.
        proxy_headers=bool(settings.trusted_proxies),
        forwarded_allow_ips=sorted(settings.trusted_proxies),
        timeout_graceful_shutdown=_LAST_ANSWERS_WITHIN_S,
    )
