"""Errors of destinations. Those of a copy are shown at the destination, not in a response."""

from framekiln.kit.errors import InvalidInput, NotFound, RemoteFailed


class DestinationInvalid(InvalidInput):
    """A destination cannot be accepted; `field` names which."""

    code = "invalid_destination"


class DestinationRefused(RemoteFailed):
    """The server of a destination refuses the copy; another attempt would change nothing."""

    code = "destination_refused"
    retryable = False


class DestinationUnavailable(RemoteFailed):
    """The server of a destination cannot be reached, or fails."""

    code = "destination_unavailable"


class OutputMissing(NotFound):
    """There is no output to copy."""

    code = "output_missing"
