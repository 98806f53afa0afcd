"""Ids of v2: ten letters and digits, as its clients expect them. Not guessable, and unique."""

import re
import secrets
import string
from typing import Final, NewType

VideoId = NewType("VideoId", str)
TemplateId = NewType("TemplateId", str)
BulkId = NewType("BulkId", str)

LENGTH: Final = 10
_LETTERS: Final = string.ascii_letters + string.digits
_ID: Final = re.compile(rf"[A-Za-z0-9]{{{LENGTH}}}")


def new_public_id() -> str:
    """Return a new random id, one of 8 * 10^17."""
    return "".join(secrets.choice(_LETTERS) for _ in range(LENGTH))


def is_public_id(text: str) -> bool:
    """Whether a text has the format of an id."""
    return _ID.fullmatch(text) is not None
