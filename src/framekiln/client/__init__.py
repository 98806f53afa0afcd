"""A small client of the HTTP API, which the command line uses too. Knows no database."""

from framekiln.client.client import Client

__all__ = ["Client"]
