"""A client of the HTTP API, also used by the command line. Needs no database."""

from framekiln.client.client import AsyncClient, Client
from framekiln.client.webhook_signatures import verify_webhook

__all__ = ["AsyncClient", "Client", "verify_webhook"]
