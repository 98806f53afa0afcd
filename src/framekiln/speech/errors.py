"""Errors of speech recognition."""

from framekiln.kit.errors import FramekilnError, InvalidInput, Unavailable


class SpeechModelMissing(Unavailable):
    """No folder has the files of the configured speech model."""

    code = "speech_model_missing"
    retryable = False


class NoSuchSpeechModel(SpeechModelMissing):
    """The configured model does not exist; there is no fallback for this mistake."""


class SpeechModelDamaged(FramekilnError):
    """A file of a speech model is not the pinned one, or cannot be read."""

    code = "speech_model_damaged"


class SpeechEngineFailed(FramekilnError):
    """The child process of a speech engine crashed."""

    code = "speech_engine_failed"
    retryable = True


class UnknownLanguage(InvalidInput):
    """The speech engine does not know this language."""

    code = "unknown_language"


class SpeechLanguageUnavailable(Unavailable):
    """The configured engine knows the language, but only a fallback without it is available."""

    code = "speech_language_unavailable"
    retryable = False
