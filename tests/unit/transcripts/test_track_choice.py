"""Which track is listened to."""

from uuid import UUID

import pytest

from framekiln.files.model import Track, TrackType
from framekiln.kit.ids import FileId
from framekiln.transcripts.errors import NoAudioTrack, NotAnAudioTrack
from framekiln.transcripts.service import choose_track

FILE = FileId(UUID(int=1))


def track(track_id: int, kind: TrackType, *, is_complete: bool = True) -> Track:
    return Track(FILE, track_id, kind, "aac", 1000, 10, 10, is_complete, {})


TRACKS = [
    track(1, "video"),
    track(2, "audio", is_complete=False),
    track(4, "audio"),
    track(3, "audio"),
    track(-1, "video"),
]


def test_the_first_complete_audio_track_is_the_default() -> None:
    assert choose_track(FILE, TRACKS, None).track_id == 3
    assert choose_track(FILE, TRACKS, 4).track_id == 4


@pytest.mark.parametrize("wanted", [1, 2, 5, 0, -1])
def test_other_tracks_are_refused_with_the_list_of_audio_tracks(wanted: int) -> None:
    with pytest.raises(NotAnAudioTrack, match="; audio tracks: 4, 3"):
        choose_track(FILE, TRACKS, wanted)


@pytest.mark.parametrize("tracks", [[], [track(1, "video")]])
def test_a_file_without_sound_is_refused(tracks: list[Track]) -> None:
    with pytest.raises(NoAudioTrack):
        choose_track(FILE, tracks, None)
