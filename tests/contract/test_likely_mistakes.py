"""The ten most likely mistakes give the messages that docs/howto/troubleshooting.md quotes."""

import re
from pathlib import Path
from typing import Any, Final

import pytest
from typer.testing import CliRunner

from framekiln.capture.browser import Browser
from framekiln.capture.grabber import GrabMethod
from framekiln.cli.program import app as command_line
from framekiln.engine.assets import LocalAsset
from framekiln.engine.film_order import FilmOrder
from framekiln.engine.page.renderer import open_page_renderer
from framekiln.engine.site import Site, SiteAssets
from framekiln.kit.errors import FramekilnError
from framekiln.kit.fetch import FetchFailed
from tests.support.app import AppHarness
from tests.support.ports import ReservedPort
from tests.support.timeouts import FILM_LIMITS

PAGE: Final = Path(__file__).parents[2] / "docs" / "howto" / "troubleshooting.md"
LENGTH: Final = {"duration_ms": 300}


def quoted_messages() -> dict[str, list[str]]:
    """Return what the page quotes for each mistake, by the first words of its row."""
    text = PAGE.read_text().partition("## The ten most likely mistakes")[2].partition("\n## ")[0]
    rows = [line.strip("|").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    return {
        re.split(r"[:,]", mistake.strip())[0]: re.findall(r"`(.+?)`", message)
        for mistake, message in rows[1:]
    }


QUOTED: Final = quoted_messages()


def assert_quoted(mistake: str, answer: str) -> None:
    """Check that the answer has every text that the page quotes; `...` is any text."""
    assert QUOTED[mistake]
    for quote in QUOTED[mistake]:
        pattern = ".*".join(re.escape(part) for part in quote.split("..."))
        assert re.search(pattern, answer), f"{mistake}: {answer!r} does not contain {quote!r}"


class NoServers:
    """A world in which no server can be reached."""

    def fetch(self, url: str) -> LocalAsset:
        """Fail as the fetcher does."""
        raise FetchFailed("cdn.example: the connection failed: no such host")


PAGES: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "a time that cannot be read": ('<ef-timegroup duration="three seconds">', LENGTH),
    "a misspelled element or attribute": ("<ef-txt>x</ef-txt>", LENGTH),
    "a library from a server that is down": (
        '<h1 id=a>Hey</h1><script src="https://cdn.example/gsap.min.js"></script>'
        "<script>gsap.to('#a', { x: 100 })</script>",
        LENGTH,
    ),
    "the source folder of a project instead of its build": (
        '<div id="root"></div><script type="module" src="/src/main.tsx"></script>',
        LENGTH,
    ),
    "a relative address of a picture": ('<img src="logo.png">', LENGTH),
    "no length": ("<ef-timegroup><p>x</p></ef-timegroup>", {}),
    "a font that is not installed": (
        "<p style=\"font-family: 'Helvetica Neue'\">x</p>",
        LENGTH,
    ),
}


@pytest.mark.parametrize("mistake", PAGES)
def test_a_likely_mistake_in_a_page_gets_the_documented_message(
    browser: Browser, tmp_path: Path, mistake: str
) -> None:
    html, asked = PAGES[mistake]
    order = FilmOrder(html, assets=NoServers(), grabbing=GrabMethod.SCREENSHOT, **asked)
    if "/src/main.tsx" in html:
        (tmp_path / "src").mkdir()
        (tmp_path / "src" / "main.tsx").write_text("const a: number = 1")
        site = Site(tmp_path)
        files = SiteAssets(site, NoServers())
        order = FilmOrder(html, assets=files, site=site, grabbing=GrabMethod.SCREENSHOT, **asked)
    try:
        with open_page_renderer(order, browser, FILM_LIMITS) as opened:
            answer = " ".join(opened.warnings())
    except FramekilnError as error:
        answer = error.message
    assert_quoted(mistake, answer)


async def test_a_misspelled_field_gets_the_documented_message(idle_app: AppHarness) -> None:
    body = {"html": "<p>x", "durationMs": 300}
    answer = (await idle_app.client.post("/api/v1/renders", json=body)).json()
    assert_quoted("a misspelled field of a request", " ".join(answer["warnings"]))


async def test_a_placeholder_without_a_template_gets_the_documented_message(
    idle_app: AppHarness,
) -> None:
    layer = {"type": "text", "text": {"text": "{{ name }}"}}
    config = {"dimensions": {"width": 64, "height": 64}, "duration": 1, "layers": [layer]}
    answer = (await idle_app.client.post("/v2/videos/new", json={"config": config})).json()
    [warning] = answer["warnings"]
    assert warning["path"] == "layers.0.text.text"
    assert_quoted(
        "`{{ name }}` in a video without a template", f"{warning['message']} {warning['hint']}"
    )


def test_a_shell_without_variables_gets_the_documented_message(tmp_path: Path) -> None:
    port = ReservedPort()
    environment = {"FRAMEKILN_DATA": str(tmp_path), "FRAMEKILN_PORT": str(port.number)}
    variables = {**environment, "DATABASE_URL": None}
    result = CliRunner().invoke(command_line, ["keys", "create"], env=variables)
    assert_quoted("a command in a shell without the service's variables", result.stderr)


def test_every_row_of_the_page_is_provoked_here() -> None:
    elsewhere = {
        "a misspelled field of a request",
        "`{{ name }}` in a video without a template",
        "a command in a shell without the service's variables",
    }
    assert set(QUOTED) == {*PAGES, *elsewhere}
    assert len(QUOTED) == 10
