"""What a composition is made of: files fetched by URL, wherever they come from."""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True)
class LocalAsset:
    """A file on this machine, for as long as the film is made."""

    path: Path
    content_type: str


class Assets(Protocol):
    """Gets assets; called from the film's thread, so it may block."""

    def fetch(self, url: str) -> LocalAsset:
        """Return the file behind a URL, or raise a FramekilnError that says what is wrong."""
        ...


class NoAssets:
    """For films that need nothing from outside."""

    def fetch(self, url: str) -> LocalAsset:
        """Refuse."""
        from framekiln.kit.errors import InvalidInput  # noqa: PLC0415

        raise InvalidInput(f"{url[:200]} cannot be fetched here")
