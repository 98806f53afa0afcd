"""How codings are named for browsers."""

import pytest

from framekiln.media.isobmff.codec_string import known_level
from framekiln.media.segmenting.cmaf import avc_codec


@pytest.mark.parametrize(
    ("told", "known"), [("640009", "64000b"), ("64000a", "64000a"), ("42c01e", "42c01e")]
)
def test_level_1b_is_named_as_the_one_that_includes_it(told: str, known: str) -> None:
    """Chromium refused videos of 64 by 64 pixels: it knows no level 9."""
    assert known_level(bytes.fromhex(told)).hex() == known
    assert avc_codec(b"\1" + bytes.fromhex(told)) == f"avc1.{known}"
