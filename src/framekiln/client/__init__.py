"""A small client of the HTTP API, also used by the command line. Needs no database."""

from framekiln.client.client import Client

__all__ = ["Client"]
