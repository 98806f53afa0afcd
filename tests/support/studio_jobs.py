"""What tests of the studio do on several pages, and on the larger ones."""

import json
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from io import BytesIO

from PIL import Image

from tests.support.service import Account
from tests.support.studio_tab import StudioTab, check_page

# The upper left corner of the frame that is shown.
IS_GREEN = (
    "(() => { const image = document.querySelector('img.film'); if (!image?.naturalWidth)"
    " return false; const canvas = new OffscreenCanvas(1, 1); const it = canvas.getContext"
    "('2d'); it.drawImage(image, 0, 0); const [r, g, b] = it.getImageData(0, 0, 1, 1)"
    ".data; return g > 140 && r < 20 && b < 80; })()"
)


def accept(studio: StudioTab) -> None:
    """Accept the first completion; in its first moment the editor takes Enter for a new line."""
    first = "document.querySelector('.editor').shadowRoot.querySelector('[aria-selected] > *')"
    studio.wait(f"!!{first}")
    studio.run(
        f"{first}.dispatchEvent(new MouseEvent('mousedown', {{bubbles: true, cancelable: true}}))"
    )


def edit_the_template(studio: StudioTab, account: Account, template_id: str) -> None:
    """Make a second version whose mistakes are marked, and look at both."""
    studio.click("Edit")
    studio.wait("document.querySelector('img.film')?.naturalWidth > 0")
    path = f"/v2/templates/{template_id}/versions"
    source = account.http.get(f"{path}/1").json()["data"]
    body = {name: source[name] for name in ("inputs", "default_values", "config")}
    wrong = {**body["config"], "duration": "never"}
    studio.write(json.dumps({"name": "Green", **body, "config": wrong}, indent=1))
    studio.wait("document.querySelector('[role=alert]')?.textContent.includes('duration')")
    studio.wait(
        "!!document.querySelector('.editor').shadowRoot.querySelector('.cm-lint-marker-error')"
    )
    inputs = {**body["inputs"], "colour": "required|color"}
    # With fewer frames: videos of two rows are made of it.
    right = {**body["config"], "backgroundColor": "{{ colour }}", "fps": 5}
    changed = {"name": "Green", "inputs": inputs, "default_values": {"colour": "#ff0000"}}
    studio.write(json.dumps({**changed, "config": right}, indent=1))
    studio.fill("colour", "#00a03c")
    studio.fill("name", "Ada")
    studio.wait(IS_GREEN)
    studio.click("Save as a new version")
    studio.wait_text("Source of version 2")
    studio.fill("name", "Ada")
    studio.fill("colour", "#00a03c")
    studio.wait(IS_GREEN)
    studio.choose("Version", "1")
    studio.wait_text("Source of version 1")
    studio.wait(f"document.querySelector('img.film')?.naturalWidth > 0 && !{IS_GREEN}")
    versions = [each["name"] for each in account.http.get(path).json()["data"]]
    assert versions == ["Green", "Greeting"]


def edit_the_graph(studio: StudioTab) -> None:
    """Add a step, set it wrongly, and delete it, and connect two."""
    studio.run("document.querySelectorAll('.graph g')[1].focus()")
    studio.press("Enter")
    studio.wait("__labelled('Type of a new step')?.options.length > 0")
    studio.choose("Type of a new step", "sample_frames")
    studio.click("Add step after cuts")
    studio.wait("document.querySelector('svg').ariaLabel === 'Steps: facts, cuts, sample_frames'")
    studio.fill("Settings (with), as JSON", '{"every": 1}')
    studio.wait("document.querySelector('[aria-label=Issues]')?.textContent.includes('every')")
    studio.wait("!!document.querySelector('.graph .selected .wrong')")
    studio.wait(
        "!!document.querySelector('.editor').shadowRoot.querySelector('.cm-lint-marker-error')"
    )
    check_page(studio)
    arrows = "document.querySelectorAll('.graph path').length"
    assert studio.run(arrows) == 2
    # From the first step to the third; the second time the arrow goes.
    for count in (3, 2):
        studio.drag(
            "document.querySelectorAll('.graph g')[0]", "document.querySelectorAll('.graph g')[2]"
        )
        studio.wait(f"{arrows} === {count}")
    studio.run("document.querySelector('fieldset input:not(:checked)').click()")
    studio.wait(f"{arrows} === 3")
    studio.run("document.querySelectorAll('.graph g')[2].focus()")
    studio.press("Delete")
    studio.wait("document.querySelector('svg').ariaLabel === 'Steps: facts, cuts'")
    studio.wait("!document.querySelector('[aria-label=Issues]')")


@contextmanager
def added_script(studio: StudioTab, script: str) -> Iterator[None]:
    """Run a script in each page that is loaded, before its own."""
    added = studio.tab.call("Page.addScriptToEvaluateOnNewDocument", source=script)
    try:
        yield
    finally:
        studio.tab.call("Page.removeScriptToEvaluateOnNewDocument", **added)


def forbidden_timers(studio: StudioTab) -> AbstractContextManager[None]:
    """Let no page that is loaded ask the service again and again: it must follow events."""
    return added_script(studio, "window.setInterval = () => { throw new Error('a timer asks'); }")


def choose_file(studio: StudioTab, name: str, content: bytes) -> None:
    """Put a file into the page's file input, as a person who chooses one."""
    studio.wait("!!document.querySelector('input[type=file]')")
    studio.run(
        f"(() => {{ const bytes = new Uint8Array({json.dumps(list(content))});"
        f" const list = new DataTransfer(); list.items.add(new File([bytes], {json.dumps(name)}));"
        " const input = document.querySelector('input[type=file]'); input.files = list.files;"
        " input.dispatchEvent(new Event('change', {bubbles: true})); })()"
    )


def write_what_is_no_json(studio: StudioTab) -> None:
    """The editor marks where the text breaks off, although the browser does not say it."""
    lines = ['{"duration": 3,', ' "layers": [{"type": "text", "text": {"text": "Hi"}},,]', "}"]
    studio.write("\n".join(lines))
    marked = "document.querySelector('.editor').shadowRoot.querySelector('.cm-lintRange-error')"
    studio.wait(f"{marked}?.closest('.cm-line').textContent === {json.dumps(lines[1])}")


def write_while_disconnected(studio: StudioTab, account: Account) -> None:
    """The page says that the api is away, and draws what was written meanwhile when it is back."""
    studio.open("/studio/playground")
    studio.write("<body style='background: rgb(200, 0, 0)'>")
    studio.wait("document.querySelector('img.film')?.naturalWidth > 0")
    account.service.kill("framekiln", " api")
    studio.wait_text("The connection to the service is lost")
    studio.write('<body style="margin: 0; background: rgb(0, 160, 60)">')
    account.service.wait_ready()
    studio.wait(IS_GREEN)
    studio.wait("!document.body.innerText.includes('The connection to the service is lost')")
    assert "TypeError" not in studio.run("document.body.innerText")
    studio.click("Start again")


def check_menu_stays(studio: StudioTab) -> None:
    """The menu fills the height of the window, before and after a long page is scrolled."""
    studio.show_as(height=600)
    studio.open("/studio/settings")
    studio.wait("document.documentElement.scrollHeight > innerHeight + 20")
    stays = """(() => {
      const {top, bottom} = document.querySelector("nav").getBoundingClientRect();
      return Math.abs(top) < 1 && Math.abs(bottom - innerHeight) < 1;
    })()"""
    studio.wait(stays)
    # The page grows while its lists arrive, and may end at half a pixel.
    studio.wait(f"scrollTo(0, document.documentElement.scrollHeight), scrollY > 0 && {stays}")


def change_the_options(studio: StudioTab) -> None:
    """Fill an option and empty it again, which leaves them open; start again with data."""
    studio.click("Size, rate, length and data")
    kept = """Object.values(localStorage).includes('{"width":64}')"""
    studio.fill("Width", "64")
    studio.wait(kept)
    studio.fill("Width", "")
    studio.wait(f"!{kept}")
    assert studio.run("document.querySelector('details').open")
    studio.fill("Data (JSON)", '{"a": 1}')
    studio.click("Start again")
    studio.wait("__labelled('Data (JSON)').value === ''")


def see_an_hour_pass(studio: StudioTab, row: str) -> None:
    """Times on a page that stays open follow the clock."""
    studio.run(
        "(() => { const now = Date.now; Date.now = () => now() + 3600e3;"
        " document.dispatchEvent(new Event('visibilitychange')); })()"
    )
    studio.wait(f"/hour ago/.test({row}?.innerText)")


def follow_the_last_row(studio: StudioTab, account: Account) -> None:
    """A row far down a list changes while it is in view; its file has a page with its picture."""
    picture = BytesIO()
    Image.new("RGB", (8, 8)).save(picture, "png")
    content = picture.getvalue()
    body = {"type": "image", "byte_size": len(content)}
    made = [
        account.http.post("/api/v1/files", json={**body, "filename": f"{number}.png"}).json()["id"]
        for number in range(60)
    ]
    studio.go("/studio/files")
    row = f"document.querySelector('a[href$=\"{made[0]}\"]')?.closest('[role=row]')"
    studio.wait(
        "(() => { const list = document.querySelector('.long-list');"
        f" list.scrollTop = 48 * 50; return !!{row}; }})()"
    )
    account.http.post(f"/api/v1/files/{made[0]}/upload", content=content)
    studio.wait(f"!!{row}?.querySelector('.status.good')")
    studio.run(f"{row}.querySelector('a').click()")
    studio.wait("document.querySelector('img.film')?.naturalWidth === 8")
    # Whoever goes back is where they were.
    studio.run("history.back()")
    studio.wait(f"!!{row}")
    choose_file(studio, "last.png", content)
    studio.wait_text("last.png: uploaded")
    studio.go("/studio/renders")
    studio.go("/studio/files")
    studio.wait_text("last.png: uploaded")


def delete_without_a_bundle(studio: StudioTab, account: Account) -> None:
    """Delete a render that waits for a bundle: nothing works on it."""
    render = account.http.post("/api/v1/renders", json={}).json()
    studio.open(f"/studio/renders/{render['id']}")
    studio.wait_text("created: 0 %")
    studio.run("window.confirm = () => true")
    studio.click("Delete")
    studio.wait("location.pathname === '/studio/renders'")
    assert account.http.get(f"/api/v1/renders/{render['id']}").status_code == 404


def copy_without_a_clipboard(studio: StudioTab, text: str) -> None:
    """Copy a secret on a page that has no clipboard: one of plain http in a local network."""
    studio.run(
        "Object.defineProperty(navigator, 'clipboard', {value: undefined});"
        "document.addEventListener('copy', () => { window.__copied = String(getSelection()); })"
    )
    button = "__find('button', 'Copy')"
    studio.drag(button, button)
    studio.wait(f"window.__copied === {json.dumps(text)} && !!__find('button', 'Copied')")


def approve_a_sound(studio: StudioTab, account: Account) -> None:
    """A run that waits leads to its review, which needs no pictures."""
    found = account.http.get("/api/v1/files", params={"search": "austen"}).json()["files"]
    definition = {"steps": {"check": {"type": "review"}}}
    pipeline = {"name": "listen", "definition": definition}
    pipeline_id = account.http.post("/api/v1/pipelines", json=pipeline).json()["id"]
    body = {"pipeline_id": pipeline_id, "file_id": found[0]["id"]}
    run = account.http.post("/api/v1/pipeline-runs", json=body).json()
    studio.go(f"/studio/runs/{run['id']}")
    studio.click("review of check")
    studio.wait("document.querySelector('video.sound')?.readyState >= 2")
    check_page(studio)
    studio.click("Approve")
    studio.wait_text("approved")
    account.http.post(f"/api/v1/pipelines/{pipeline_id}/archive").raise_for_status()


def find_routes(studio: StudioTab) -> None:
    """Search the API reference in a narrow window."""
    studio.open("/docs")
    studio.wait("document.querySelectorAll('article').length > 0")
    studio.show_as(width=390)
    assert studio.run("document.documentElement.scrollWidth <= innerWidth")
    shown = "[...document.querySelectorAll('#index li')].filter((it) => it.offsetParent !== null)"
    studio.fill("Search routes", "rotate")
    assert studio.run(f"{shown}.map((it) => it.innerText)[0]") == "organization"
    studio.fill("Search routes", "no such route")
    assert studio.run(f"{shown}.map((it) => it.innerText)") == ["No route has these words."]
    assert studio.accessibility_problems() == []
    studio.show_as()
