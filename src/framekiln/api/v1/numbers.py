"""Numbers as JSON has them: 1280 and 1280.0 are the same, "1280" and true are not numbers."""

from typing import Annotated, Any

from pydantic import BeforeValidator


def _number(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("must be a number")
    return value


def _whole(value: Any) -> Any:
    if not float(_number(value)).is_integer():
        raise ValueError("must be a whole number")
    return int(value)


Number = Annotated[float, BeforeValidator(_number)]
WholeNumber = Annotated[int, BeforeValidator(_whole)]
