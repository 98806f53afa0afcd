"""Parts of what lies on other servers: of one version, and guarded like all else."""

from dataclasses import replace

import pytest

from framekiln.kit.content_version import ContentVersion, SourceChanged
from framekiln.kit.fetch import FetchedPart, FetchFailed, GuardedFetcher
from framekiln.kit.guarded_transport import FetchRefused
from tests.support.receiver import Answer, Receiver
from tests.support.timeouts import TIMEOUT_S


def allowing(receiver: Receiver) -> GuardedFetcher:
    return GuardedFetcher(frozenset({f"127.0.0.1:{receiver.port}"}))


PART = Answer(206, b"cdef", {"Content-Range": "bytes 2-5/9", "ETag": '"a"'})


async def test_a_range_is_returned_with_the_version_of_the_file(receiver: Receiver) -> None:
    receiver.answer(PART)
    part = await allowing(receiver).download_part(receiver.url(), 2, 6, within_s=TIMEOUT_S)
    assert part == FetchedPart(b"cdef", ContentVersion(9, '"a"', None), None)
    assert receiver.requests[-1].headers["range"] == "bytes=2-5"
    assert "if-range" not in receiver.requests[-1].headers


async def test_a_known_version_is_sent_as_a_condition(receiver: Receiver) -> None:
    receiver.answer(PART)
    fetcher, known = allowing(receiver), ContentVersion(9, '"a"', None)
    await fetcher.download_part(receiver.url(), 2, 6, version=known, within_s=TIMEOUT_S)
    assert receiver.requests[-1].headers["if-range"] == '"a"'
    for answer in (Answer(body=b"all of it"), replace(PART, headers={})):
        receiver.answer(answer)
        with pytest.raises(SourceChanged):
            await fetcher.download_part(receiver.url(), 2, 6, version=known, within_s=TIMEOUT_S)


async def test_a_server_without_ranges_is_recognized(receiver: Receiver) -> None:
    for answer in (Answer(body=b"x" * 99), Answer(416), replace(PART, headers={})):
        receiver.answer(answer)
        asked = allowing(receiver).download_part(receiver.url(), 2, 6, within_s=TIMEOUT_S)
        assert await asked is None


async def test_a_truncated_range_is_an_error(receiver: Receiver) -> None:
    receiver.answer(replace(PART, body=b"cd"))
    with pytest.raises(FetchFailed, match="sent 2 bytes of a part"):
        await allowing(receiver).download_part(receiver.url(), 2, 6, within_s=TIMEOUT_S)


async def test_a_redirect_to_a_private_address_is_refused(receiver: Receiver) -> None:
    receiver.answer(Answer(302, headers={"Location": "https://127.0.0.1:1/private"}))
    with pytest.raises(FetchRefused):
        await allowing(receiver).download_part(receiver.url(), 0, 9, within_s=TIMEOUT_S)
    assert len(receiver.requests) == 1
