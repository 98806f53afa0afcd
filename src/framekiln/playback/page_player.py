"""Playback of local sources for a page during its render: files of its bundle, and fetched ones.

The page uses the routes of the API and gets the same as players: manifests and segments, or an
index and tracks. Nothing is stored or shared: everything is made on demand and lives as long as the
render. Confined children read the sources.
"""

import asyncio
import json
import shutil
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from framekiln.capture.network import PAGE_URL, Resource, file_resource
from framekiln.engine.assets import MAX_ASSET_BYTES, LocalAsset
from framekiln.engine.page_api import NoService, PageRoutes
from framekiln.files.errors import TrackNotFound
from framekiln.files.ids import parse_track_id
from framekiln.kit.atomic_file import READABLE_BY_ALL
from framekiln.kit.confined.job_folders import open_job_folders
from framekiln.kit.confined.limits import ResourceLimits
from framekiln.kit.confined.run import run_confined
from framekiln.kit.ranged_path import RangedPath
from framekiln.media.segments.renditions import Outline
from framekiln.media.segments.session_segments import outline_in_child, segment_in_child
from framekiln.media.task_names import SPLIT_TASK
from framekiln.media.tracks.split import INDEX_NAME, track_path
from framekiln.playback.manifests import json_manifest
from framekiln.playback.manifests.links import ManifestLinks
from framekiln.playback.segment_names import (
    SEGMENT_TYPE,
    SELF_CONTAINED_TYPE,
    check_segment,
    find_init,
    find_rendition,
    is_self_contained,
    parse_segment_name,
)

Query = Mapping[str, str]

_JSON: Final = "application/json"
_COPIED_BYTES: Final = 1 << 20
_SPLIT_LIMITS: Final = ResourceLimits(
    cpu_s=3600, memory_bytes=4 << 30, file_bytes=8 * MAX_ASSET_BYTES, wall_s=3600
)


class PagePlayer:
    """Owned by the film's thread; tracks are written below `folder`, which belongs to the film."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._outlines: dict[Path, Outline] = {}
        self._split: dict[Path, Path] = {}

    def play(self, path: str, query: Query, source: LocalAsset) -> Resource | None:
        """Return the resource at an API path for a source; None if there is none."""
        if (found := _ROUTES.find(path)) is None:
            return None
        route, parts = found
        return route(self, source.path, query, *parts)

    def manifest(self, source: Path, query: Query) -> Resource:
        """Return the manifest of the source; its URLs lead back to the page's own host."""
        links = ManifestLinks(query["url"])
        public_url = PAGE_URL.rstrip("/")
        manifest = json_manifest.json_manifest(self._outline(source), links, public_url=public_url)
        return Resource(json.dumps(manifest).encode(), _JSON)

    def init(self, source: Path, _query: Query, rendition: str, extension: str) -> Resource:
        """Return the init segment of a rendition."""
        return Resource(find_init(self._outline(source), rendition, extension), SELF_CONTAINED_TYPE)

    def segment(
        self, source: Path, _query: Query, rendition: str, number: str, extension: str
    ) -> Resource:
        """Return one segment."""
        name = parse_segment_name(rendition, number, extension)
        found = find_rendition(self._outline(source), rendition)
        check_segment(found, name)
        data = segment_in_child(source, found, name.number)
        if is_self_contained(extension):
            return Resource(found.init + data, SELF_CONTAINED_TYPE)
        return Resource(data, SEGMENT_TYPE)

    def index(self, source: Path, _query: Query) -> Resource:
        """Return the fragment index of the tracks."""
        return Resource((self._tracks(source) / INDEX_NAME).read_bytes(), _JSON)

    def track(self, source: Path, query: Query) -> Resource:
        """Return one track."""
        number = parse_track_id(query.get("trackId", ""))
        path = track_path(self._tracks(source), number)
        if not path.is_file():
            raise TrackNotFound(f"Track not found: the source has no track {number}")
        return file_resource(path, SELF_CONTAINED_TYPE)

    def _outline(self, source: Path) -> Outline:
        if source not in self._outlines:
            self._outlines[source] = outline_in_child(source)
        return self._outlines[source]

    def _tracks(self, source: Path) -> Path:
        """Return the folder with the tracks of a source; make them on first use."""
        if source not in self._split:
            folder = self._folder / f"tracks-{len(self._split)}"
            folder.mkdir()
            _split(source, folder)
            self._split[source] = folder
        return self._split[source]


def _split(source: Path, folder: Path) -> None:
    """Write the tracks and the index of a source."""
    with open_job_folders("tracks") as place:
        readable = source
        if isinstance(source, RangedPath) or not source.stat().st_mode & stat.S_IROTH:
            readable = place.source
            with source.open("rb") as file, readable.open("wb") as copy:
                shutil.copyfileobj(file, copy, _COPIED_BYTES)
            readable.chmod(READABLE_BY_ALL)
        splitting = run_confined(
            SPLIT_TASK,
            {"source": str(readable.absolute()), "folder": ".", "has_overview": False},
            limits=_SPLIT_LIMITS,
            folder=folder,
            readable=[readable],
        )
        # The film's thread has no event loop.
        asyncio.run(splitting)


class PlayerWithoutService(NoService, PagePlayer):
    """For renders without a service: plays only sources by URL."""

    play = PagePlayer.play


# The path of an init segment also matches that of a segment, so it comes first.
_ROUTES: Final[PageRoutes[Callable[..., Resource]]] = PageRoutes(
    (r"transcode/manifest\.json", PagePlayer.manifest),
    (r"transcode/*/init\.*", PagePlayer.init),
    (r"transcode/*/*\.*", PagePlayer.segment),
    (r"files/index", PagePlayer.index),
    (r"files/track", PagePlayer.track),
)
