"""The address of a layer's source: a remote URL, or a file that was uploaded before."""

from dataclasses import dataclass

from framekiln.composition.layers.field_types import UrlType, address_problem
from framekiln.composition.layers.json_schema import Definitions, JsonSchema
from framekiln.composition.layers.limits import MAX_URL_CHARS
from framekiln.composition.layers.schema import REFUSED, FieldContext, Refused
from framekiln.kit.ids import FILE_ID_SCHEME, parse_uuid


@dataclass(frozen=True)
class SourceType(UrlType):
    """A remote URL or `file-id:<id>`. Whether the file exists is checked elsewhere."""

    def read(self, value: object, place: FieldContext) -> str | Refused:
        """Return the address."""
        if not isinstance(value, str) or not value.strip().startswith(FILE_ID_SCHEME):
            return super().read(value, place)
        address = value.strip()
        problem = source_problem(address)
        if problem is None:
            return address
        place.issue(*problem)
        return REFUSED

    def json_schema(self, definitions: Definitions) -> JsonSchema:
        """Describe an address."""
        described = "A URL, http or https, or an uploaded file: file-id:<id>."
        return {"type": "string", "maxLength": MAX_URL_CHARS, "description": described}


def source_problem(address: str) -> tuple[str, str] | None:
    """Return code and message of the problem of a source's address, or None."""
    if address.startswith(FILE_ID_SCHEME):
        if parse_uuid(address.removeprefix(FILE_ID_SCHEME)) is not None:
            return None
        return "not_url", "must be file-id: and the id of a file, which is a UUID"
    return address_problem(address)
