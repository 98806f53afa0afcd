"""What other packages read or lock of files, in a transaction of theirs."""

from framekiln.files.ingested_asset_store import find_valid as find_asset
from framekiln.files.store import find as find_file
from framekiln.files.store import lock as lock_file
from framekiln.files.streams.store import list_fragments as list_stream_fragments
from framekiln.files.streams.store import list_tracks as list_stream_tracks
from framekiln.files.track_store import list_all as list_tracks

__all__ = [
    "find_asset",
    "find_file",
    "list_stream_fragments",
    "list_stream_tracks",
    "list_tracks",
    "lock_file",
]
