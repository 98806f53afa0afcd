"""pydantic's messages about fields, in the words of our own.

Its own speak of dictionaries and instances of classes.
"""

import re
from typing import Final

_MESSAGES: Final = {
    "missing": "is missing",
    "union_tag_not_found": "has no type",
    "string_type": "must be a string",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "finite_number": "must be a finite number",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "list_type": "must be a list",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    "extra_forbidden": "is not known here: check its name",
    "uuid_parsing": "must be a UUID",
    "uuid_type": "must be a UUID",
}
# Such as "Input should be 1" and "List should have at most 3 items after validation, not 4".
_DEMAND: Final = re.compile(r"^[A-Z]\w*( \w+)? should (.*?)( after validation.*)?$")


def field_message(error_type: str, message: str) -> str:
    """Return what is wrong with a field: "must be a list"."""
    plain = message.removeprefix("Value error, ")
    return _MESSAGES.get(error_type) or _DEMAND.sub(r"must \2", plain)
