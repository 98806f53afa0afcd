"""What can be wrong with speech recognition, apart from what was said."""

from framekiln.kit.errors import FramekilnError, InvalidInput, Unavailable


class SpeechModelMissing(Unavailable):
    """No folder has the files of the speech model that is set."""

    code = "speech_model_missing"
    retryable = False


class NoSuchSpeechModel(SpeechModelMissing):
    """The setting names no model that there is: a mistake, which no other engine makes good."""


class SpeechModelDamaged(FramekilnError):
    """A file of a speech model is not the one that was pinned, or cannot be understood."""

    code = "speech_model_damaged"


class SpeechEngineFailed(FramekilnError):
    """The child process in which an engine listens ended badly."""

    code = "speech_engine_failed"
    retryable = True


class UnknownLanguage(InvalidInput):
    """The speech engine has no such language."""

    code = "unknown_language"


class SpeechLanguageUnavailable(Unavailable):
    """The engine that is set knows the language, but only a lesser one is there, which does not."""

    code = "speech_language_unavailable"
    retryable = False
