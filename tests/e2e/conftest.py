"""A real Chromium that films pages, and the films to look at."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from framekiln.capture.browser import Browser, open_browser
from framekiln.engine.film import make_film
from framekiln.engine.order import Film, FilmLimits, FilmOrder
from tests.support.frame_codes import Picture
from tests.support.looks import DecodedFrame, decode_frames

WIDTH, HEIGHT = 640, 360
LIMITS = FilmLimits(settle_s=20, frame_s=20, whole_s=120)


@dataclass(frozen=True)
class Take:
    """A film that was made, and what it shows."""

    film: Film
    path: Path

    @cached_property
    def frames(self) -> list[DecodedFrame]:
        return decode_frames(self.path)

    @property
    def pictures(self) -> list[Picture]:
        return [frame.rgb for frame in self.frames]


class Camera:
    """Films pages with one browser, each into a file of its own."""

    def __init__(self, browser: Browser, folder: Path) -> None:
        self.browser = browser
        self._folder = folder
        self._numbers = count()

    def film(self, html: str, **order: Any) -> Take:
        """Film a page; ten frames in a second, unless the order says otherwise."""
        asked: dict[str, Any] = {
            "width_px": WIDTH,
            "height_px": HEIGHT,
            "fps": Fraction(10),
            "duration_ms": 1000,
        }
        path = self._folder / f"{next(self._numbers)}.mp4"
        film = make_film(FilmOrder(html, **asked | order), self.browser, path, limits=LIMITS)
        return Take(film, path)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One Chromium a module; a test that harms browsers opens its own."""
    with open_browser() as browser:
        yield browser


@pytest.fixture
def camera(browser: Browser, tmp_path: Path) -> Camera:
    return Camera(browser, tmp_path)


def processes_under(leader: int) -> list[int]:
    """Return the living children of a process, and theirs, and so on; zombies do not count."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            state, parent = (entry / "stat").read_text().rpartition(")")[2].split()[:2]
            if state != "Z":
                children.setdefault(int(parent), []).append(int(entry.name))
    found = list(children.get(leader, ()))
    for pid in found:
        found += children.get(pid, ())
    return found
