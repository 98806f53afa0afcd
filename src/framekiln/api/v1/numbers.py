"""JSON numbers: 1280 and 1280.0 are the same, "1280" and true are not numbers.

They come last in an annotation, `Annotated[int, Field(ge=1), WHOLE]`, so that the limits apply to
the type and are right in the OpenAPI document.
"""

from typing import Any, Final

from pydantic import BeforeValidator
from pydantic_core import PydanticCustomError


def _number(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise PydanticCustomError("number_type", "must be a number")
    return value


def _whole(value: Any) -> Any:
    if isinstance(_number(value), float) and not value.is_integer():
        raise PydanticCustomError("number_type", "must be a whole number")
    return int(value)


NUMBER: Final = BeforeValidator(_number)
WHOLE: Final = BeforeValidator(_whole)
