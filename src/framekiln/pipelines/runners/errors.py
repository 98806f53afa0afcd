"""Why steps that have others do their work fail."""

from framekiln.kit.errors import CompositionFailed


class TranscriptionFailed(CompositionFailed):
    """The transcription that a step had made failed; another attempt has another one made."""

    code = "transcription_failed"
    retryable = True


class RedactionFailed(CompositionFailed):
    """The render that a step had made failed. There is no automatic retry (spec 2.11)."""

    code = "redaction_failed"


class AmbiguousRedaction(CompositionFailed):
    """A step publishes a redaction, and several are equally near."""

    code = "redaction_ambiguous"
