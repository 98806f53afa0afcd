"""What can be wrong with transcriptions."""

from framekiln.kit.errors import CompositionFailed, Conflict, InvalidInput, NotFound


class TranscriptionNotFound(NotFound):
    """No such transcription in this organization, or the file has none."""

    code = "transcription_not_found"


class TranscriptionNotComplete(Conflict):
    """Its text was asked for before it was there, or it failed."""

    code = "transcription_not_complete"


class NoAudioTrack(InvalidInput):
    """The file has no sound."""

    code = "no_audio_track"


class NotAnAudioTrack(InvalidInput):
    """The track that was named is not there, or is no sound."""

    code = "not_an_audio_track"


class TranscriptionKillsWorkers(CompositionFailed):
    """One worker after the other died while it listened."""

    code = "transcription_kills_workers"
