"""Names that people read: they have a visible character.

`VISIBLE` comes last in an annotation, as the types of `numbers` do.
"""

from typing import Annotated, Final

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from framekiln.kit.blank_text import NOT_BLANK, is_blank


def _visible(text: str) -> str:
    if is_blank(text):
        raise PydanticCustomError("blank", NOT_BLANK)
    return text


VISIBLE: Final = AfterValidator(_visible)

FileName = Annotated[str, Field(min_length=1, max_length=1024, strict=True), VISIBLE]
