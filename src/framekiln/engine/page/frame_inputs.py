"""What of a page can influence the frames of one slice: all of it but what is hidden throughout.

The page describes itself (`runtime/src/frame_inputs.ts`) before frame 0. An element outside its
time is not drawn, so nothing counts of what is inside it; docs/decisions/0021 says when.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

from framekiln.engine.film_plan import FilmSlice


@dataclass
class _Seen:
    """What is found while a description is read."""

    addresses: set[str]
    hidden_addresses: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class FrameInputs:
    """The description of a page that was loaded, and for which no frame was drawn."""

    description: dict[str, Any]

    @property
    def obstacle(self) -> str | None:
        """Why all of the page counts for each slice, if so."""
        return self.description["obstacle"] or None

    def digest(self, slice_: FilmSlice) -> tuple[str, frozenset[str]]:
        """Return a digest of what counts for a slice, and addresses of sources that do not."""
        seen = _Seen(set(self.description["addresses"]))
        sums = hashlib.sha256(self.description["styles"].encode())
        for text in self._texts(self.description["page"], slice_, seen):
            sums.update(f"{len(text)} {text}\n".encode())
        unused = seen.hidden_addresses | set(self.description["captionAddresses"])
        others = frozenset(each for each in unused - seen.addresses if not self._is_in_styles(each))
        return sums.hexdigest(), others

    def _texts(self, parts: list[Any], slice_: FilmSlice, seen: _Seen) -> Iterator[str]:
        for part in parts:
            if isinstance(part, str):
                yield part
                continue
            yield part["hidden"]
            if _is_hidden(part["frames"], slice_):
                yield "hidden"
                seen.hidden_addresses.update(_all_addresses(part))
                continue
            seen.addresses.update(part["addresses"])
            yield part["shown"]
            yield from _captions(part["captions"], slice_)
            yield from self._texts(part["inside"], slice_, seen)
            yield "end"

    def _is_in_styles(self, address: str) -> bool:
        """Return whether styles may name the same source; they may write its address otherwise."""
        styles = self.description["styles"]
        name = PurePosixPath(urlsplit(address).path).name
        return "\\" in styles or not name or name in styles or unquote(name) in styles


def _is_hidden(frames: list[int] | None, slice_: FilmSlice) -> bool:
    """Return whether an element is hidden in all frames of a slice."""
    if frames is None:
        return False
    first, last = frames
    return last < slice_.first_frame or first >= slice_.end_frame


def _all_addresses(part: dict[str, Any]) -> Iterator[str]:
    yield from part["addresses"]
    for inner in part["inside"]:
        if not isinstance(inner, str):
            yield from _all_addresses(inner)


def _captions(runs: list[list[Any]], slice_: FilmSlice) -> Iterator[str]:
    """Yield what captions show in the frames of a slice."""
    ends = [first for first, _ in runs[1:]] + [slice_.end_frame]
    for (first, text), end in zip(runs, ends, strict=False):
        if first < slice_.end_frame and end > slice_.first_frame:
            yield f"{max(first, slice_.first_frame)} {text}"
