"""Errors of transcriptions."""

from framekiln.kit.errors import CompositionFailed, Conflict, InvalidInput, NotFound


class TranscriptionNotFound(NotFound):
    """No such transcription in this organization, or the file has none."""

    code = "transcription_not_found"


class TranscriptionNotComplete(Conflict):
    """Its text was requested before it was complete, or it failed."""

    code = "transcription_not_complete"


class NoAudioTrack(InvalidInput):
    """The file has no audio."""

    code = "no_audio_track"


class NotAnAudioTrack(InvalidInput):
    """The named track does not exist, or is not an audio track."""

    code = "not_an_audio_track"


class TranscriptionKillsWorkers(CompositionFailed):
    """Several workers died while they transcribed it."""

    code = "transcription_kills_workers"
