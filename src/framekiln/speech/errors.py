"""What can be wrong with speech recognition, apart from what was said."""

from framekiln.kit.errors import FramekilnError, InvalidInput, Unavailable


class SpeechModelMissing(Unavailable):
    """No folder has the files of the speech model that is set."""

    code = "speech_model_missing"
    retryable = False


class SpeechModelDamaged(FramekilnError):
    """A file of a speech model is not the one that was pinned, or cannot be understood."""

    code = "speech_model_damaged"


class UnknownLanguage(InvalidInput):
    """The speech model has no such language."""

    code = "unknown_language"
