"""What of a page can influence the frames of one slice: all of it but what is hidden throughout.

The page describes itself (`runtime/src/frame_inputs.ts`) before frame 0. An element outside its
time is not drawn, so nothing counts of what is inside it; docs/decisions/0021 says when.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from framekiln.engine.film_plan import FilmSlice

_LONG: Final = 200


@dataclass
class _Seen:
    """What is found while a description is read."""

    addresses: set[str]
    hidden_addresses: set[str] = field(default_factory=set)


class FrameInputs:
    """The description of a page that was loaded, and for which no frame was drawn."""

    def __init__(self, description: dict[str, Any]) -> None:
        self._styles: str = description["styles"] + description["functions"]
        self._page = [_shortened(part) for part in (description["styles"], *description["page"])]
        self._addresses = frozenset(description["addresses"])
        self._caption_addresses = frozenset(description["captionAddresses"])
        self._in_styles: dict[str, bool] = {}
        self.obstacle: str | None = description["obstacle"] or None
        """Why all of the page counts for each slice, if so."""

    def digest(self, slice_: FilmSlice) -> tuple[str, frozenset[str]]:
        """Return a digest of what counts for a slice, and addresses of sources that do not."""
        seen = _Seen(set(self._addresses))
        sums = hashlib.sha256()
        for text in _texts(self._page, slice_, seen):
            sums.update(f"{len(text)} {text}\n".encode())
        unused = seen.hidden_addresses | self._caption_addresses
        others = frozenset(each for each in unused - seen.addresses if not self._is_in_styles(each))
        return sums.hexdigest(), others

    def has_scenes(self, slices: Sequence[FilmSlice]) -> bool:
        """Return whether a change of the page may leave some of these slices as they are."""
        return len(slices) > 1 and _is_hidden_in_one(self._page, slices)

    def _is_in_styles(self, address: str) -> bool:
        """Return whether styles may name the same source; they may write its address otherwise."""
        if address not in self._in_styles:
            name = PurePosixPath(urlsplit(address).path).name
            is_unclear = "\\" in self._styles or not name
            is_named = name in self._styles or unquote(name) in self._styles
            self._in_styles[address] = is_unclear or is_named
        return self._in_styles[address]


def _shortened(part: Any) -> Any:
    """Return a part with digests instead of long texts: each is read again for each slice."""
    if isinstance(part, str):
        return part if len(part) < _LONG else hashlib.sha256(part.encode()).hexdigest()
    return {**part, "inside": [_shortened(inner) for inner in part["inside"]]}


def _texts(parts: list[Any], slice_: FilmSlice, seen: _Seen) -> Iterator[str]:
    """Yield what counts for a slice."""
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
        yield from _texts(part["inside"], slice_, seen)
        yield "end"


def _is_hidden(frames: list[int] | None, slice_: FilmSlice) -> bool:
    """Return whether an element is hidden in all frames of a slice."""
    if frames is None:
        return False
    first, last = frames
    return last < slice_.first_frame or first >= slice_.end_frame


def _is_hidden_in_one(parts: list[Any], slices: Sequence[FilmSlice]) -> bool:
    return any(
        any(_is_hidden(part["frames"], slice_) for slice_ in slices)
        or len(part["captions"]) > 1
        or _is_hidden_in_one(part["inside"], slices)
        for part in parts
        if not isinstance(part, str)
    )


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
