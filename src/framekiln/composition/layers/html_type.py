"""The `html` of an html layer, in each of the shapes it is sent in."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from framekiln.composition.layers.field_types import BooleanType, TextType, UrlType, as_filled_text
from framekiln.composition.layers.limits import MAX_PAGE_CHARS
from framekiln.composition.layers.read_context import FieldContext
from framekiln.composition.layers.schema import REFUSED, Field, Refused, Schema
from framekiln.composition.layers.values import HtmlPage

_NAMES: Final = ("page", "url", "selector", "withTailwind", "withTransparentBackground")


@dataclass(frozen=True)
class _Page:
    body: str | None = None
    styles: str | None = None
    document: str | None = None


@dataclass(frozen=True)
class _PageType:
    """`{body, styles}`, or a whole document as a string."""

    def read(self, value: object, place: FieldContext) -> _Page | Refused:
        text, value = TextType(MAX_PAGE_CHARS), as_filled_text(value, place)
        if isinstance(value, str):
            document = text.read(value, place)
            return document if isinstance(document, Refused) else _Page(document=document)
        fields = (
            Field("body", "body", text, is_required=True),
            Field("styles", "styles", text),
        )
        return Schema(_Page, fields).read(value, place)

    def write(self, value: _Page) -> Any:
        if value.document is not None:
            return value.document
        styles = {} if value.styles is None else {"styles": value.styles}
        return {"body": value.body, **styles}


def _make(page: _Page | None, **rest: Any) -> HtmlPage:
    page = page or _Page()
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
        """Return the page; a plain string is a whole document."""
        value = as_filled_text(value, place)
        return _HTML.read({"page": value} if isinstance(value, str) else value, place)

    def write(self, value: HtmlPage) -> dict[str, Any]:
        """Return the object."""
        written: dict[str, Any] = {}
        if value.body is not None or value.document is not None:
            written["page"] = _PageType().write(_Page(value.body, value.styles, value.document))
        for name, found in (("url", value.url), ("selector", value.selector)):
            if found is not None:
                written[name] = found
        written["withTailwind"] = value.with_tailwind
        written["withTransparentBackground"] = value.has_transparent_background
        return written


def with_html_object(fields: Mapping[str, object]) -> dict[str, object]:
    """Return the fields of a layer with `page`, `url` and the like moved into `html`."""
    loose = {name: fields[name] for name in _NAMES if fields.get(name) is not None}
    html = fields.get("html")
    if not loose or not (html is None or isinstance(html, Mapping)):
        return dict(fields)
    rest = {name: found for name, found in fields.items() if name not in _NAMES}
    return {**rest, "html": {**loose, **(html or {})}}
