"""What can go wrong between a step and its endpoint."""

from framekiln.kit.errors import Conflict, NotFound, RemoteFailed


class EndpointUnavailable(RemoteFailed):
    """The endpoint could not be reached, took too long, or said that it cannot do it now."""

    code = "endpoint_unavailable"


class EndpointRefused(RemoteFailed):
    """The endpoint answered that it will not do it, or sent us elsewhere."""

    code = "endpoint_refused"
    retryable = False


class EndpointFailed(RemoteFailed):
    """The endpoint called back that it failed, without a code of its own."""

    code = "endpoint_failed"
    retryable = False


class CallbackTimedOut(RemoteFailed):
    """The endpoint accepted the work, and was not heard of in time."""

    code = "callback_timed_out"


class CallbackNotFound(NotFound):
    """No attempt has this callback address."""

    code = "callback_not_found"


class StepNotWaiting(Conflict):
    """Nobody waits for this callback: the attempt has ended."""

    code = "step_not_waiting"
