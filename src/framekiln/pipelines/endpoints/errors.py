"""Errors between a step and its endpoint."""

from framekiln.kit.errors import Conflict, NotFound, RemoteFailed


class EndpointUnavailable(RemoteFailed):
    """The endpoint could not be reached, was too slow, or answered that it is not available."""

    code = "endpoint_unavailable"


class EndpointRefused(RemoteFailed):
    """The endpoint refused the request, or answered with a redirect."""

    code = "endpoint_refused"
    retryable = False


class EndpointFailed(RemoteFailed):
    """The endpoint called back that it failed, without a code of its own."""

    code = "endpoint_failed"
    retryable = False


class CallbackTimedOut(RemoteFailed):
    """The endpoint accepted the work, but did not call back in time."""

    code = "callback_timed_out"


class CallbackNotFound(NotFound):
    """No attempt has this callback URL."""

    code = "callback_not_found"


class StepNotWaiting(Conflict):
    """The attempt has ended and accepts no callback."""

    code = "step_not_waiting"
