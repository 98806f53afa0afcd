"""Errors of transcriptions."""

from framekiln.kit.errors import CompositionFailed, Conflict, InvalidInput, NotFound


class TranscriptionNotFound(NotFound):
    """No such transcription in this organization, or the file has none."""

    code = "transcription_not_found"


class TranscriptionNotComplete(Conflict):
    """Its text was requested before it was complete, or it failed."""

    code = "transcription_not_complete"


class CorrectionNotFound(NotFound):
    """No correction of this track starts at that time."""

    code = "correction_not_found"


class InvalidCorrection(InvalidInput):
    """Its span ends before it starts, or starts after the end of the track."""

    code = "invalid_correction"


class CorrectionOverlaps(Conflict):
    """Its span contains only a part of another correction."""

    code = "correction_overlaps"


class TooManyCorrections(Conflict):
    """The track has as many corrections as are allowed."""

    code = "too_many_corrections"


class NoAudioTrack(InvalidInput):
    """The file has no audio."""

    code = "no_audio_track"


class NotAnAudioTrack(InvalidInput):
    """The named track does not exist, or is not an audio track."""

    code = "not_an_audio_track"


class TranscriptionKillsWorkers(CompositionFailed):
    """Several workers died while they transcribed it."""

    code = "transcription_kills_workers"
