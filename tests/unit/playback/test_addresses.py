"""Which addresses name a file of ours, and which are refused before anybody fetches them."""

from uuid import UUID

import pytest

from framekiln.playback.addresses import check_web_address, file_id_in
from framekiln.playback.errors import SourceAddressInvalid

FILE = UUID("a3b9a0db-3ccd-44aa-9ad0-0148b11eba61")


@pytest.mark.parametrize(
    "url",
    [
        f"file-id:{FILE}",
        f"https://kiln.example/api/v1/files/{FILE}",
        f"http://127.0.0.1:8080/api/v1/files/{FILE}/content?a=b",
        f"/api/v1/files/{FILE}",
    ],
)
def test_every_address_of_a_file_names_it(url: str) -> None:
    assert file_id_in(url) == FILE


@pytest.mark.parametrize(
    "url",
    [
        "https://cdn.example/clip.mp4",
        f"https://cdn.example/clips/{FILE}",
        "https://cdn.example/api/v1/files/clip.mp4",
        f"https://cdn.example/?u=/api/v1/files/{FILE}",
        "https://[broken",
    ],
)
def test_other_addresses_have_no_file_id(url: str) -> None:
    assert file_id_in(url) is None


@pytest.mark.parametrize(
    "url",
    [
        "",
        "clip.mp4",
        "file:///etc/passwd",
        "ftp://cdn.example/a",
        "https://a/\n",
        "https://a/" * 900,
    ],
)
def test_addresses_that_cannot_be_fetched_are_refused(url: str) -> None:
    with pytest.raises(SourceAddressInvalid):
        check_web_address(url)


def test_a_file_id_must_be_one() -> None:
    with pytest.raises(SourceAddressInvalid, match="UUID"):
        file_id_in("file-id:clip")
