"""The job that copies an output to one destination.

A failed copy is never a failed job: copies are tried again by their own schedule. A server chosen
by a caller may be silent or slow on purpose, so a copy ends when nothing moves or nobody wants it.
"""

from collections.abc import AsyncIterator
from typing import Final
from uuid import UUID

import structlog

from framekiln.destinations.errors import (
    DestinationRefused,
    DestinationUnavailable,
    OutputMissing,
)
from framekiln.destinations.hosts import HostPlaces
from framekiln.destinations.model import Destination, DestinationError, DestinationId
from framekiln.destinations.targets import UploadTarget, upload_target
from framekiln.destinations.worker import DestinationWorker
from framekiln.jobs.failures import retry_while_database_down
from framekiln.jobs.model import JobContext
from framekiln.jobs.progress import WorkUnwanted, run_while_wanted
from framekiln.kit.errors import Blame, FramekilnError
from framekiln.kit.fetch import FetchedResponse, GuardedFetcher, UploadLimits
from framekiln.renders.model import Render
from framekiln.renders.output import media_type_of
from framekiln.storage.blob_store import BlobStore

log = structlog.get_logger(__name__)

_WITHIN_S: Final = 3600.0
STALL_S: Final = 60.0
"""A server that takes no byte and sends none for this long is given up."""
_KEPT_BYTES: Final = 4 << 10
_TEMPORARY: Final = frozenset({408, 409, 425, 429})
_REMEDIES: Final = {
    400: "check region, key and signature of the address",
    401: "its credentials are wrong or have expired: create the render again with valid ones",
    403: (
        "its credentials are wrong, have expired, or may not write there: create the render again"
        " with valid ones"
    ),
    404: "there is no such bucket, container or address: create it, or correct the name",
    411: "it does not accept a plain PUT request",
    413: "it does not accept files of this size",
}


class CopyOutput:
    """Handles `destination.copy` jobs."""

    def __init__(
        self,
        work: DestinationWorker,
        *,
        blobs: BlobStore,
        fetcher: GuardedFetcher,
        stall_s: float = STALL_S,
        hosts: HostPlaces | None = None,
    ) -> None:
        self._work = work
        self._blobs = blobs
        self._fetcher = fetcher
        self._stall_s = stall_s
        self._hosts = hosts or HostPlaces()

    async def __call__(self, job: JobContext) -> None:
        """Copy the output, unless that has been done."""
        found = await self._work.take(DestinationId(UUID(job.args["destination_id"])))
        if found is None:
            return
        taken, render = found
        try:
            byte_size = await run_while_wanted(
                self._copy(taken, render), lambda: self._work.is_wanted(taken)
            )
        except WorkUnwanted:
            log.info("destinations.copy_stopped", destination_id=str(taken.id))
            return
        except FramekilnError as error:
            await self._record_failure(taken, error)
            return
        except Exception as error:
            # An unexpected error must not stop the retries of the copy.
            log.exception("destinations.request_raised", destination_id=str(taken.id))
            message = f"{taken.address}: sent something that is not HTTP ({type(error).__name__})"
            await self._record_failure(taken, DestinationUnavailable(message))
            return
        if byte_size is None:
            await retry_while_database_down(lambda: self._work.postpone(taken))
            return
        await retry_while_database_down(lambda: self._work.complete(taken, byte_size=byte_size))
        log.info("destinations.copied", destination_id=str(taken.id), byte_size=byte_size)

    async def _copy(self, taken: Destination, render: Render) -> int | None:
        """Send the output; return its size, or None if its host has too many copies at once."""
        key = render.result.output_key if render.result else None
        info = None if key is None else await self._blobs.info(key)
        if key is None or info is None:
            raise OutputMissing("there is no output to copy any more: it was deleted")
        await self._work.check_quota(taken)
        target = upload_target(await self._work.request_of(taken), taken.resource_id)
        with self._hosts.place(target.url) as is_free:
            if not is_free:
                return None
            sent = _SentBytes(self._blobs.stream(key))
            try:
                response = await self._send(sent, target, render, size_bytes=info.size_bytes)
            finally:
                # Also what was sent in vain: it used the network.
                await self._work.record_bytes(taken, sent.byte_count)
        _check_response(response, taken)
        return info.size_bytes

    async def _send(
        self, sent: "_SentBytes", target: UploadTarget, render: Render, *, size_bytes: int
    ) -> FetchedResponse:
        return await self._fetcher.upload(
            target.url,
            sent.chunks(),
            size_bytes=size_bytes,
            headers={"content-type": media_type_of(render.request.output), **target.headers},
            limits=UploadLimits(_WITHIN_S, self._stall_s, _KEPT_BYTES),
        )

    async def _record_failure(self, taken: Destination, error: FramekilnError) -> None:
        # Messages about ourselves are for the operator, who has the log.
        is_ours = error.blame is Blame.US
        unread = f"{taken.address}: could not be copied; ask the operator"
        message = unread if is_ours else error.message
        failure = DestinationError(error.code, message)
        retry_at = await retry_while_database_down(
            lambda: self._work.fail(taken, failure, retryable=error.retryable)
        )
        log.warning(
            "destinations.copy_failed",
            destination_id=str(taken.id),
            attempt=taken.attempts,
            code=error.code,
            reason=error.message,
            retry_at=retry_at.isoformat() if retry_at else None,
        )


class _SentBytes:
    """Counts the bytes of an output that are sent."""

    def __init__(self, stream: AsyncIterator[bytes]) -> None:
        self._stream = stream
        self.byte_count = 0

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield the bytes."""
        async for chunk in self._stream:
            self.byte_count += len(chunk)
            yield chunk


def _check_response(response: FetchedResponse, taken: Destination) -> None:
    """Raise unless the server has accepted the copy."""
    status = response.status
    if 200 <= status < 300:
        return
    said = response_code(response.content)
    answer = f"{taken.address}: the server answered with status {status}{said}"
    if status >= 500 or status in _TEMPORARY:
        raise DestinationUnavailable(f"{answer}; the copy is tried again", status=status)
    remedy = _REMEDIES.get(status, "redirects are not followed" if status < 400 else "")
    raise DestinationRefused(f"{answer}: {remedy}" if remedy else answer, status=status)


def response_code(content: bytes) -> str:
    """Return the error code in an XML response of a bucket, such as ` (AccessDenied)`."""
    _, found, rest = content.decode("utf-8", "replace").partition("<Code>")
    code = rest.partition("</Code>")[0]
    return f" ({code})" if found and code.isalnum() and len(code) <= 60 else ""
