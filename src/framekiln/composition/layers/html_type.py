"""The `html` of an html layer, in all accepted forms."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from framekiln.composition.layers.field_types import BooleanType, TextType, UrlType, as_filled_text
from framekiln.composition.layers.json_schema import Definitions, JsonSchema, any_of
from framekiln.composition.layers.limits import MAX_PAGE_CHARS
from framekiln.composition.layers.schema import REFUSED, Field, FieldContext, Refused, Schema
from framekiln.composition.layers.values import HtmlPage


@dataclass(frozen=True)
class HtmlPageSource:
    """The `page` of an html layer."""

    body: str | None = None
    styles: str | None = None
    document: str | None = None


_SOURCE: Final = TextType(MAX_PAGE_CHARS)
_PAGE: Final = Schema(
    HtmlPageSource,
    (
        Field("body", "body", _SOURCE, is_required=True),
        Field("styles", "styles", _SOURCE),
    ),
)


@dataclass(frozen=True)
class _PageType:
    """`{body, styles}`, or a complete document as a string."""

    def read(self, value: object, place: FieldContext) -> HtmlPageSource | Refused:
        value = as_filled_text(value, place)
        if isinstance(value, str):
            document = _SOURCE.read(value, place)
            return document if isinstance(document, Refused) else HtmlPageSource(document=document)
        return _PAGE.read(value, place)

    def write(self, value: HtmlPageSource) -> Any:
        if value.document is not None:
            return value.document
        styles = {} if value.styles is None else {"styles": value.styles}
        return {"body": value.body, **styles}

    def json_schema(self, definitions: Definitions) -> JsonSchema:
        return any_of(_SOURCE.json_schema(definitions), _PAGE.json_schema(definitions))


def _make(page: HtmlPageSource | None, **rest: Any) -> HtmlPage:
    page = page or HtmlPageSource()
    return HtmlPage(page.body, page.styles, page.document, **rest)


def _check(page: HtmlPage, place: FieldContext) -> HtmlPage | Refused:
    if page.url is None and page.body is None and page.document is None:
        place.child("page").issue("required", "page or url is missing")
        return REFUSED
    return page


_HTML: Final = Schema(
    _make,
    (
        Field("page", "page", _PageType()),
        Field("url", "url", UrlType()),
        Field("selector", "selector", TextType(1000)),
        Field("withTailwind", "with_tailwind", BooleanType(), False),
        Field("withTransparentBackground", "has_transparent_background", BooleanType(), False),
    ),
    check=_check,
)


@dataclass(frozen=True)
class HtmlType:
    """The `html` object."""

    def read(self, value: object, place: FieldContext) -> HtmlPage | Refused:
        """Return the page; a plain string is a complete document."""
        value = as_filled_text(value, place)
        return _HTML.read({"page": value} if isinstance(value, str) else value, place)

    def write(self, value: HtmlPage) -> dict[str, Any]:
        """Return the object."""
        written: dict[str, Any] = {}
        if value.body is not None or value.document is not None:
            written["page"] = _PageType().write(
                HtmlPageSource(value.body, value.styles, value.document)
            )
        for name, found in (("url", value.url), ("selector", value.selector)):
            if found is not None:
                written[name] = found
        written["withTailwind"] = value.with_tailwind
        written["withTransparentBackground"] = value.has_transparent_background
        return written

    def json_schema(self, definitions: Definitions) -> JsonSchema:
        """Describe the object, or a complete document."""
        return any_of(
            definitions.refer("HtmlPage", lambda: _HTML.json_schema(definitions)),
            _SOURCE.json_schema(definitions),
        )

    def loose_properties(self, definitions: Definitions) -> dict[str, JsonSchema]:
        """Describe the fields of `html` that may also be on the layer itself."""
        return _HTML.properties(definitions)


_NAMES: Final = tuple(each.name for each in _HTML.fields)


def with_html_object(fields: Mapping[str, object]) -> dict[str, object]:
    """Return the fields of a layer with `page`, `url` and similar ones moved into `html`."""
    loose = {name: fields[name] for name in _NAMES if fields.get(name) is not None}
    html = fields.get("html")
    if not loose or not (html is None or isinstance(html, Mapping)):
        return dict(fields)
    rest = {name: found for name, found in fields.items() if name not in _NAMES}
    return {**rest, "html": {**loose, **(html or {})}}
