"""Which track of a file is listened to. Pure."""

from collections.abc import Sequence

from framekiln.files.model import Track
from framekiln.kit.ids import FileId
from framekiln.transcripts.errors import NoAudioTrack, NotAnAudioTrack


def choose_track(file_id: FileId, tracks: Sequence[Track], wanted: int | None) -> Track:
    """Return the track that was asked for, or the first sound; raise if that is no sound."""
    sounds = [track for track in tracks if track.type == "audio" and track.is_complete]
    if not sounds:
        raise NoAudioTrack(f"file {file_id} has no audio track, so there is nothing to transcribe")
    if wanted is None:
        return min(sounds, key=lambda track: track.track_id)
    found = next((track for track in sounds if track.track_id == wanted), None)
    if found is None:
        known = ", ".join(str(track.track_id) for track in sounds)
        raise NotAnAudioTrack(
            f"track {wanted} of file {file_id} is not an audio track; its audio tracks: {known}",
            field="trackId",
        )
    return found
