"""A small client of the HTTP interface, as our own command line uses it. Knows no database."""

from framekiln.client.client import Client

__all__ = ["Client"]
