"""Warnings about a page: likely mistakes, failed requests, and errors that its scripts reported.

The page is examined once, before frame 0 (`runtime/src/mistakes.ts`). Warnings never change a
film; only a page that draws nothing because its own script is missing fails.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import PurePosixPath
from typing import Any, Final
from urllib.parse import urlsplit

from framekiln.capture.errors import (
    BrowserDied,
    BrowserTimeout,
    PageBlocked,
    PageCrashed,
    PageNeverSettled,
    PageThrew,
)
from framekiln.capture.network import PAGE_URL, PageNetwork
from framekiln.capture.page import Page
from framekiln.engine.errors import LengthUnknown, ScriptMissing
from framekiln.engine.missing_media import missing_source_of
from framekiln.engine.page.host import PageHost
from framekiln.kit.errors import FramekilnError
from framekiln.kit.suggestions import did_you_mean, nearest_name
from framekiln.kit.warning_text import WarningText, reworded

Json = Mapping[str, Any]

# After these errors the page does not respond.
_UNRESPONSIVE: Final = (BrowserDied, BrowserTimeout, PageBlocked, PageCrashed)
_OFTEN_CAUSED_BY_SCRIPTS: Final = (PageThrew, PageNeverSettled, LengthUnknown)
_NAMED_SCRIPTS: Final = 3
_MAX_REFUSALS: Final = 20
_MAX_URL_CHARS: Final = 200
_MAX_NAME_CHARS: Final = 80
_MAX_TEXT_CHARS: Final = 1500
_UNBUILT: Final = frozenset({".ts", ".mts", ".tsx", ".jsx", ".vue", ".svelte", ".astro"})
_BUILD: Final = "build the project (for Vite: npm run build) and send its output folder (dist)"
_NO_MISTAKES: Final[Json] = {
    "elements": (),
    "attributes": (),
    "fonts": (),
    "scripts": (),
    "soundingFrames": (),
    "isBlank": False,
}


class PageWarnings:
    """The warnings of one page. Owned by the page's thread."""

    def __init__(self, page: Page, network: PageNetwork, host: PageHost) -> None:
        self.plan_warnings: tuple[str, ...] = ()
        """Warnings of the film's plan."""
        self._page = page
        self.network = network
        self._host = host
        self._mistakes = _NO_MISTAKES
        self._has_looked = False

    def check(self) -> None:
        """Examine the loaded page; raise if it draws nothing because its own script is missing."""
        self._find_mistakes()
        own = [each for each in self._mistakes["scripts"] if each["url"].startswith(PAGE_URL)]
        if self._mistakes["isBlank"] and own:
            raise ScriptMissing(
                f"nothing is drawn, because {self._about_script(own[0])}", script=own[0]["url"]
            )

    @property
    def has_fetch_errors(self) -> bool:
        """Whether a source could not be fetched or used; it may be there next time."""
        return bool(self._host.fetch_errors)

    def collect(self) -> tuple[str, ...]:
        """Return every warning so far, each once."""
        scripts = self._mistakes["scripts"]
        named = {str(script["url"]) for script in scripts}
        found = (
            *self.plan_warnings,
            *map(_about_element, self._mistakes["elements"]),
            *map(_about_attribute, self._mistakes["attributes"]),
            *map(_about_font, self._mistakes["fonts"]),
            *(WarningText("script_failed", self._about_script(each)) for each in scripts),
            *map(_about_frame, self._mistakes["soundingFrames"]),
            *_about_late_requests(self.network.late),
            *self._host.warnings_except(named),
            *self._refusals(named),
            *self._page.reported_problems(),
        )
        return tuple(dict.fromkeys(map(_printable, found)))

    @contextmanager
    def explain_errors(self) -> Iterator[None]:
        """Add the likely cause and the warnings to errors raised in the block."""
        try:
            yield
        except FramekilnError as error:
            explained = self._explained(error)
            explained.message = _printable(explained.message)
            explained.warnings = self.collect()
            if explained is error:
                raise
            raise explained from error

    def _explained(self, error: FramekilnError) -> FramekilnError:
        if not self._has_looked and not isinstance(error, _UNRESPONSIVE):
            with suppress(FramekilnError):
                self._find_mistakes()
        if isinstance(error, PageThrew) and (
            missing := missing_source_of(error, self._host.fetch_errors)
        ):
            return missing
        if not isinstance(error, _OFTEN_CAUSED_BY_SCRIPTS):
            return error
        if causes := list(self._causes(error)):
            message = f"{error.message.rstrip('.')}. {' '.join(causes)}"
            return type(error)(message, **error.details)
        return error

    def _causes(self, error: FramekilnError) -> Iterable[str]:
        for script in self._mistakes["scripts"][:_NAMED_SCRIPTS]:
            yield f"Likely cause: {self._about_script(script)}."
        if "Failed to resolve module specifier" in error.message:
            yield f"Browsers find no packages by name: {_BUILD}, or write an import map."

    def _find_mistakes(self) -> None:
        self._mistakes = self._page.mistakes()
        self._has_looked = True

    def _about_script(self, script: Json) -> str:
        url = str(script["url"])
        if not url:
            return f"a module script in the page did not run: {self._why_not(script)}"
        shown = url.removeprefix(PAGE_URL.rstrip("/")) if url.startswith(PAGE_URL) else url
        return f"the script {shown[:_MAX_URL_CHARS]} did not run: {self._why_not(script)}"

    def _why_not(self, script: Json) -> str:
        url = str(script["url"])
        if reason := self._host.fetch_errors.get(url):
            said = reason.message.rstrip(".")
            return f"{said}; check its address, or put the script into the page or a bundle"
        if url in self.network.refused:
            return self._host.refusal(url)
        suffix = PurePosixPath(urlsplit(url).path).suffix.lower()
        if suffix in _UNBUILT:
            return f"browsers do not run {suffix} files; {_BUILD}"
        if script["isModule"]:
            return f"it, or something it imports, is not JavaScript or is not there; {_BUILD}"
        return "it is not JavaScript"

    def _refusals(self, named: set[str]) -> Iterable[str]:
        beside = (url for url in self.network.refused if url not in self._host.fetch_errors)
        for url in [url for url in beside if url not in named][:_MAX_REFUSALS]:
            reason = self._host.refusal(url)
            yield WarningText("request_refused", f"request refused: {url}: {reason}")


def _printable(text: str) -> str:
    """Return the printable part of a text, which the page may have chosen."""
    shown = (each if each.isprintable() else " " for each in text[:_MAX_TEXT_CHARS])
    return reworded(text, "".join(shown))


def _about_element(unknown: Json) -> str:
    near = nearest_name(unknown["name"], unknown["known"])
    hint = f"; did you mean <{near}>?" if near else ""
    return WarningText(
        "unknown_element",
        f"{unknown['element']}: there is no element <{unknown['name']}>, so it is drawn like a"
        f" <span>{hint}",
    )


def _about_attribute(unknown: Json) -> str:
    said = unknown["name"] if unknown["value"] is None else unknown["value"]
    question = did_you_mean(said, unknown["known"])
    hint = f"; {question}" if question else ""
    if unknown["value"] is None:
        message = f"there is no attribute {said}, so it has no effect{hint}"
        return WarningText("unknown_attribute", f"{unknown['element']}: {message}")
    written = f'{unknown["element"]}: {unknown["name"]}="{said}"'
    if not unknown["known"]:
        return WarningText("unknown_value", f"{written} is no number, so it has no effect")
    known = ", ".join(unknown["known"])
    return WarningText("unknown_value", f"{written} is none of {known}{hint}")


def _about_frame(element: str) -> str:
    return WarningText(
        "sound_left_out",
        f"{element}: the sound of its media is not in the film, which has only that of the page"
        " itself; put the media into the page",
    )


def _about_late_requests(urls: Sequence[str]) -> Iterable[str]:
    if urls:
        others = f" and {len(urls) - 1} more" if len(urls) > 1 else ""
        yield WarningText(
            "late_request",
            f"a script requested {urls[0][:_MAX_URL_CHARS]}{others} after frame 0: when it gets the"
            " answer, and so the picture, may differ from run to run; request it before, and let"
            " window.renderReady wait for it, or wait for it in a frame task",
        )


def _about_font(font: Json) -> str:
    remedy = "load it as a web font (@font-face, or a link to its style sheet)"
    return WarningText("font_missing", f"{font['element']}: {missing_font_warning(font, remedy)}")


def missing_font_warning(font: Json, remedy: str) -> str:
    """Return the warning about a font that a text names; `remedy` says how to load it."""
    family, instead = str(font["family"])[:_MAX_NAME_CHARS], str(font["instead"])[:_MAX_NAME_CHARS]
    used = f"{instead} is used instead" if instead else "the default font is used instead"
    if font["isWebFont"]:
        return f"the web font {family} could not be loaded, {used}; check its address"
    return (
        f"the font {family} is not installed, {used}; {remedy}, or install it where films are made"
    )
