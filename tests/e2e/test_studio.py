"""The studio in a real browser: the main job of each page, and what must not happen there."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from framekiln.studio import assets
from tests.support.browser_tab import OrdinaryBrowser
from tests.support.service import Account
from tests.support.studio_jobs import (
    IS_GREEN,
    accept,
    approve_a_sound,
    change_the_options,
    check_menu_stays,
    choose_file,
    copy_without_a_clipboard,
    delete_without_a_bundle,
    edit_the_graph,
    edit_the_template,
    find_routes,
    follow_the_last_row,
    forbidden_timers,
    see_an_hour_pass,
    write_what_is_no_json,
    write_while_disconnected,
)
from tests.support.studio_tab import FOUR_WINDOWS, TWO_WINDOWS, StudioTab, check_page

ROOT = Path(__file__).parents[2]
SPOKEN = ROOT / "tests" / "support" / "speech" / "austen_0880.flac"
MAX_FIRST_LOAD_BYTES = 150_000
PAGES = (
    "/",
    "/studio/playground",
    "/studio/renders",
    "/studio/videos",
    "/studio/templates",
    "/studio/templates/new",
    "/studio/files",
    "/studio/pipelines",
    "/studio/pipelines/new",
    "/studio/runs",
    "/studio/batches",
    "/studio/endpoints",
    "/studio/reviews",
    "/studio/webhooks",
    "/studio/people",
    "/studio/audit",
    "/studio/settings",
)
HARMFUL_IMAGE = "<img src=x onerror=window.__harmed=1>"
HARM = f"{HARMFUL_IMAGE}<script>window.__harmed=1</script>"
# What a page says goes to warnings and to the console of its render.
HARMFUL_PAGE = f"<body><script>console.error({json.dumps(HARMFUL_IMAGE)})</script>"
GREEN_PAGE = '<body style="margin: 0; background: rgb(0, 160, 60)">'


@pytest.fixture(scope="module")
def studio(account: Account, ordinary_browser: OrdinaryBrowser) -> Iterator[StudioTab]:
    """A tab with a logged-in user."""
    with ordinary_browser.open_tab() as tab:
        studio = StudioTab(tab, account.url)
        studio.show_as()
        studio.open(account.login_link("owner"))
        studio.wait_text("Log out")
        yield studio


@pytest.fixture(autouse=True)
def no_errors(studio: StudioTab) -> Iterator[None]:
    """Whatever a test does, the console has no error at its end."""
    studio.errors.clear()
    yield
    assert studio.errors == []


def test_the_first_steps_end_with_a_film(studio: StudioTab, account: Account) -> None:
    studio.open("/")
    # Clicked twice, it makes one film.
    studio.wait("!!__find('button', 'Make the film')")
    studio.run("[1, 2].forEach(() => __find('button', 'Make the film').click())")
    studio.wait("document.querySelector('video')?.readyState >= 2")
    assert studio.run("document.querySelector('video').videoWidth") == 640
    [render] = account.http.get("/api/v1/renders").json()["renders"]
    assert render["status"] == "complete"
    studio.wait("!!document.querySelector('[aria-label=Slices] .bar.good')")
    check_page(studio)
    studio.click("Source")
    studio.wait_text("@keyframes move")
    studio.click("Render again")
    studio.wait(f"!location.pathname.endsWith({json.dumps(render['id'])})")
    studio.wait("document.querySelector('video')?.readyState >= 2")
    studio.click("Compare with another render")
    studio.wait("document.querySelector('[aria-label=\"Other render\"]')?.options.length === 2")
    studio.choose("Other render", render["id"])
    studio.fill("Frame", "20")
    studio.wait(
        "(() => { const both = [...document.querySelectorAll('.pair video')]; return both.length"
        " === 2 && both.every((each) => each.readyState >= 2 && each.currentTime > 0.6); })()"
    )


def test_a_transcript_is_corrected_and_undone(studio: StudioTab, account: Account) -> None:
    studio.open("/studio/files")
    studio.wait_text("Upload files")
    choose_file(studio, "austen.flac", SPOKEN.read_bytes())
    studio.wait_text("austen.flac: uploaded")
    studio.click("austen.flac", "a")
    studio.click("Transcribe")
    studio.click("ill-disposed", ".transcript button")
    studio.wait("document.activeElement?.tagName === 'TEXTAREA'")
    studio.tab.call("Input.dispatchKeyEvent", type="keyDown", commands=["selectAll"])
    studio.tab.call("Input.insertText", text=f"He was {HARM}")
    studio.press("Enter")
    studio.wait("!!document.querySelector('.transcript .tag')")
    studio.wait_text("He was <img")
    check_page(studio)
    assert studio.run("window.__harmed === undefined")
    [made] = account.http.get("/api/v1/transcriptions").json()["transcriptions"]
    path = f"/api/v1/transcriptions/{made['id']}"
    assert "onerror=window.__harmed=1>" in account.http.get(f"{path}.srt").text
    studio.click("Undo")
    studio.wait("!document.querySelector('.transcript .tag')")
    assert account.http.get(f"{path}/corrections").json() == {"corrections": []}
    studio.run("document.querySelector('.scrubber').focus()")
    studio.press("ArrowRight")
    studio.wait("document.querySelector('.scrubber').ariaValueNow === '1'")


def test_first_load_is_small(studio: StudioTab) -> None:
    studio.open("/")
    studio.wait_text("Log out")
    names = studio.run(
        "performance.getEntriesByType('resource').map((each) => new URL(each.name).pathname)"
        ".filter((path) => path.startsWith('/studio/assets/'))"
    )
    sizes = [len(gzip.compress(assets.asset(Path(name).name).content)) for name in set(names)]
    assert len(sizes) >= 2
    assert sum(sizes) <= MAX_FIRST_LOAD_BYTES


def test_the_playground_shows_a_frame_of_the_page_as_it_is_written(studio: StudioTab) -> None:
    studio.open("/studio/playground")
    studio.write(GREEN_PAGE)
    studio.wait(IS_GREEN)
    # What was typed is there after a reload.
    studio.wait(f"Object.values(localStorage).includes({json.dumps(GREEN_PAGE)})")
    studio.open("/studio/playground")
    studio.wait(
        "document.querySelector('.editor')?.shadowRoot?.textContent.includes('rgb(0, 160, 60)')"
    )
    change_the_options(studio)


def test_a_mistake_in_a_config_is_shown_at_its_line(studio: StudioTab) -> None:
    studio.open("/studio/playground?kind=config")
    studio.write('{\n"dimensions": {"width": 640, "height": 360},\n"duration": "never"\n}')
    studio.wait("document.querySelector('[role=alert]')?.textContent.includes('duration')")
    studio.wait(
        "!!document.querySelector('.editor').shadowRoot.querySelector('.cm-lint-marker-error')"
    )
    write_what_is_no_json(studio)
    studio.click("Start again")
    studio.wait("document.querySelector('img.film')?.naturalWidth > 0")


def test_names_and_values_of_a_config_are_completed(studio: StudioTab) -> None:
    studio.open("/studio/playground?kind=config")
    studio.write('{"layers": [{"type": "image", }]}')
    editor = "document.querySelector('.editor').shadowRoot"
    labels = f"{editor}.querySelectorAll('.cm-completionLabel')"
    offered = f"[...{labels}].map((it) => it.textContent)"
    for _ in range(3):
        studio.press("ArrowLeft", windowsVirtualKeyCode=37)
    # The editor writes the second quote itself.
    studio.tab.press('"')
    studio.wait(f"{offered}.includes('onError')")
    for letter in "onE":
        studio.tab.press(letter)
    studio.wait(f"{offered}.join() === 'onError'")
    accept(studio)
    studio.wait(f'{editor}.textContent.includes(\'"image", "onError": }}\')')
    studio.tab.press('"')
    studio.wait(f"{offered}.join() === 'fail,placeholder,skip'")
    studio.tab.press("s")
    studio.wait(f"{offered}[0] === 'skip'")
    accept(studio)
    studio.wait(f'{editor}.textContent.includes(\'"onError": "skip"}}\')')
    studio.click("Start again")


def test_a_template_has_a_form_and_says_what_is_wrong_at_the_field(
    studio: StudioTab, account: Account
) -> None:
    studio.open("/studio/templates/new")
    studio.wait("document.querySelector('img.film')?.naturalWidth > 0")
    studio.click("Save")
    studio.wait_text("Source of version 1")
    studio.fill("name", "A name that is longer than thirty characters")
    studio.click("Make the video")
    studio.wait("document.querySelector('[aria-invalid=true]')?.name === 'name'")
    studio.fill("name", "Grace")
    studio.click("Make the video")
    studio.wait("document.querySelector('video')?.readyState >= 2")
    [video] = account.http.get("/v2/videos").json()["data"]
    assert video["is_ready"]


def test_a_table_with_a_wrong_row_is_refused_and_a_right_one_makes_videos(
    studio: StudioTab, account: Account
) -> None:
    [template] = account.http.get("/v2/templates").json()["data"]
    with forbidden_timers(studio):
        studio.open(f"/studio/templates/{template['id']}")
        edit_the_template(studio, account, template["id"])
        choose_file(studio, "rows.csv", f"name\nAda\n{'x' * 31}\n".encode())
        studio.wait_text("row 2: name: name must have at most 30 characters")
        choose_file(studio, "rows.csv", b"name\nAda\nGrace\n")
        studio.wait_text("complete: 100 % of 2 rows")
        studio.wait("document.querySelectorAll('[aria-label=Rows] .status.good').length === 2")
        check_page(studio)


def test_an_uploaded_file_is_played_with_its_waveform(studio: StudioTab, flash_clip: Path) -> None:
    studio.open("/studio/files")
    studio.wait_text("Upload files")
    choose_file(studio, "flash.mp4", flash_clip.read_bytes())
    studio.wait_text("flash.mp4: uploaded")
    studio.click("flash.mp4", "a")
    studio.wait("document.querySelector('video')?.readyState >= 2")
    assert studio.run("document.querySelector('video').videoWidth") > 0
    studio.wait("!!document.querySelector('canvas.waveform')")
    picture = np.asarray(studio.look())
    assert picture.std() > 20
    check_page(studio)


def test_a_pipeline_is_drawn_run_and_followed(studio: StudioTab, account: Account) -> None:
    studio.open("/studio/pipelines/new")
    studio.fill("Name", "facts and cuts")
    studio.write(
        '{"steps": {"facts": {"type": "probe"},'
        ' "cuts": {"type": "detect_scenes", "needs": ["facts"]}}}'
    )
    studio.wait("document.querySelector('svg')?.ariaLabel === 'Steps: facts, cuts'")
    edit_the_graph(studio)
    studio.click("Save")
    studio.wait("document.querySelector('select[name=file]')?.options.length > 0")
    studio.click("Run", "form button")
    studio.wait("document.querySelectorAll('.waterfall .bar.good').length === 2")
    studio.click("facts", "[aria-label=Outputs] button")
    studio.wait_text("duration_ms")
    check_page(studio)
    first = studio.run("location.pathname")
    studio.click("Run again")
    studio.wait(f"location.pathname !== {json.dumps(first)}")
    studio.wait("document.querySelectorAll('.waterfall .bar.good').length === 2")
    approve_a_sound(studio, account)


def test_a_batch_runs_a_pipeline_over_files(studio: StudioTab) -> None:
    studio.open("/studio/batches/new")
    studio.wait("document.querySelectorAll('input[name=file]').length > 0")
    studio.wait("document.querySelector('select[name=pipeline]')?.options.length === 1")
    studio.run("document.querySelectorAll('input[name=file]').forEach((each) => each.click())")
    check_page(studio)
    studio.click("Start")
    studio.wait_text("runs have ended")
    studio.wait("document.querySelector('progress')?.position === 1")
    check_page(studio)


def test_an_endpoint_shows_its_secret_once_and_is_archived(studio: StudioTab) -> None:
    studio.open("/studio/endpoints")
    studio.fill("Address (https)", "http://10.0.0.1/work")
    studio.click("Add")
    studio.wait("document.querySelector('[aria-invalid=true]')?.name === 'url'")
    studio.fill("Address (https)", "https://93.184.215.14/work")
    studio.click("Add")
    secret = studio.wait("document.querySelector('.note.good code')?.textContent")
    studio.open("/studio/endpoints")
    studio.wait_text("https://93.184.215.14/work")
    assert secret not in studio.run("document.body.innerText")
    studio.run("window.confirm = () => true")
    studio.click("Archive")
    studio.wait_text("archived")


def test_a_wrong_address_of_a_webhook_is_named_at_the_field(studio: StudioTab) -> None:
    studio.open("/studio/webhooks")
    studio.fill("Address (https)", "http://10.0.0.1/hook")
    studio.click("Add")
    studio.wait("document.querySelector('[aria-invalid=true]')?.name === 'url'")
    # It is still there after a reload, until the webhook is added.
    studio.open("/studio/webhooks")
    studio.wait("__labelled('Address (https)')?.value === 'http://10.0.0.1/hook'")


def test_a_key_is_made_and_revoked(studio: StudioTab, account: Account) -> None:
    studio.open("/studio/settings")
    studio.fill("Name of a new key", "from the studio")
    studio.click("Make a key")
    key = studio.wait("document.querySelector('.note.good code')?.textContent")
    copy_without_a_clipboard(studio, key)
    assert studio.run("__labelled('Name of a new key').value") == ""
    assert studio.run("localStorage.getItem('framekiln.draft.key.form')") is None
    headers = {"Authorization": f"Bearer {key}"}
    used = account.http.get("/api/v1/organization", headers=headers)
    assert used.json()["api_key_name"] == "from the studio"
    studio.run(
        "[...document.querySelectorAll('tr')].find((row) =>"
        " row.textContent.includes('from the studio')).querySelectorAll('button')[1].click()"
    )
    studio.click("New secret")
    rotated = studio.wait(
        f"[document.querySelector('.note.good code')?.textContent].find((it) => it !== '{key}')"
    )
    studio.wait_text("the old secret ends")
    for text in (key, rotated):
        both = {"Authorization": f"Bearer {text}"}
        assert account.http.get("/api/v1/organization", headers=both).status_code == 200
    studio.run("window.confirm = () => true")
    studio.run(
        "[...document.querySelectorAll('tr')].find((row) =>"
        " row.textContent.includes('from the studio')).querySelector('button').click()"
    )
    studio.wait(
        "[...document.querySelectorAll('tr')].some((row) =>"
        " row.textContent.includes('from the studio') && !row.querySelector('button'))"
    )
    assert account.http.get("/api/v1/organization", headers=headers).status_code == 401


def test_names_of_strangers_are_text_and_never_run(studio: StudioTab, account: Account) -> None:
    body = {"html": HARMFUL_PAGE, "duration_ms": 100, "metadata": {HARM: HARM}}
    render = account.http.post("/api/v1/renders", json=body).json()
    file = account.http.post(
        "/api/v1/files", json={"filename": f"{HARM}.mp4", "type": "video", "byte_size": 10}
    ).json()
    pipeline = account.http.post(
        "/api/v1/pipelines", json={"name": HARM, "definition": {"steps": {"a": {"type": "probe"}}}}
    ).json()
    layer = {"id": "t", "type": "text", "text": {"text": "Hello"}}
    config = {"dimensions": {"width": 64, "height": 64}, "duration": 1, "layers": [layer]}
    body = {"name": HARM, "inputs": {}, "default_values": {}, "config": config}
    template = account.http.post("/v2/templates", json=body).json()
    hook = {"url": f"https://93.184.215.14/?q={HARM}", "events": ["*"]}
    webhook = account.http.post("/api/v1/webhooks", json=hook).json()
    shown = (
        (f"/studio/renders/{render['id']}", "the page wrote to its console: <img"),
        ("/studio/files", HARM),
        (f"/studio/files/{file['id']}", HARM),
        ("/studio/pipelines", HARM),
        (f"/studio/pipelines/{pipeline['id']}", HARM),
        ("/studio/templates", HARM),
        (f"/studio/templates/{template['data']['id']}", HARM),
        ("/studio/webhooks", "93.184.215.14"),
        (f"/studio/webhooks/{webhook['id']}", "93.184.215.14"),
    )
    for path, text in shown:
        studio.go(path)
        studio.wait_text(text)
        assert studio.run("window.__harmed === undefined")
    # A page that fails says so with words of its own.
    studio.open("/studio/playground")
    studio.write(f"<script>throw new Error({json.dumps(HARMFUL_IMAGE)})</script>")
    studio.wait("document.querySelector('[role=alert]')?.textContent.includes('onerror=')")
    assert studio.run("window.__harmed === undefined")
    studio.click("Start again")
    studio.open(f"/api/v1/renders/{render['id']}/source")
    assert studio.run("document.querySelector('body > pre') !== null")


def test_lists_follow_the_events_of_the_service(studio: StudioTab, account: Account) -> None:
    with forbidden_timers(studio):
        studio.open("/studio/renders")
        studio.wait("document.querySelectorAll('[aria-label=Renders] a').length > 0")
        body = {"html": GREEN_PAGE, "duration_ms": 100}
        render = account.http.post("/api/v1/renders", json=body).json()
        row = f"document.querySelector('a[href$=\"{render['id']}\"]')?.closest('[role=row], tr')"
        studio.wait(f"!!{row}?.querySelector('.status.good')")
        see_an_hour_pass(studio, row)
        follow_the_last_row(studio, account)
    delete_without_a_bundle(studio, account)


def test_a_lost_connection_is_shown_and_mends_itself(studio: StudioTab, account: Account) -> None:
    write_while_disconnected(studio, account)
    studio.errors.clear()  # The browser logs what it could not load.


@pytest.mark.parametrize("path", PAGES)
def test_a_page_fits_is_accessible_and_logs_no_error(studio: StudioTab, path: str) -> None:
    # The other tests open these by their addresses. Who comes by a link has axe already.
    studio.go(path)
    studio.wait("!document.body.innerText.includes('Loading…')")
    # The menu is the same everywhere.
    check_page(studio, FOUR_WINDOWS if path == "/" else TWO_WINDOWS)


def test_the_api_reference_fits_and_finds_routes(studio: StudioTab) -> None:
    find_routes(studio)


def test_the_menu_stays_while_a_long_page_is_scrolled(studio: StudioTab) -> None:
    check_menu_stays(studio)


def test_details_fit_are_accessible_and_log_no_error(studio: StudioTab, account: Account) -> None:
    """Of what the tests before have made; those that they have looked at are left out."""
    pipelines = account.http.get("/api/v1/pipelines").json()["pipelines"]
    [pipeline] = [each for each in pipelines if each["name"] == "facts and cuts"]
    [video, *_] = account.http.get("/v2/videos").json()["data"]
    animation = {"dimensions": {"width": 64, "height": 36}, "duration": 0.2, "extension": "gif"}
    made = account.http.post("/v2/videos/new", json={"config": animation}).json()
    [webhook] = account.http.get("/api/v1/webhooks").json()["webhooks"]
    for path, shown in (
        (f"videos/{video['id']}", "document.querySelector('video')?.readyState >= 2"),
        (f"videos/{made['id']}", "document.querySelector('img.film')?.naturalWidth === 64"),
        (f"pipelines/{pipeline['id']}", "!!document.querySelector('svg')"),
        (f"webhooks/{webhook['id']}", "document.body.innerText.includes('93.184.215.14')"),
    ):
        studio.go(f"/studio/{path}")
        studio.wait(shown)
        check_page(studio)


def test_another_organization_sees_nothing_of_it(
    studio: StudioTab, account: Account, ordinary_browser: OrdinaryBrowser
) -> None:
    [render, *_] = account.http.get("/api/v1/renders").json()["renders"]
    with account.service.open_account("other") as other, ordinary_browser.open_tab() as tab:
        stranger = StudioTab(tab, account.url)
        stranger.open("/")
        stranger.wait_text("Log in")
        check_page(stranger)
        stranger.open(other.login_link())
        stranger.wait_text("Log out")
        stranger.open(f"/studio/renders/{render['id']}")
        stranger.wait("document.querySelector('[role=alert]')?.textContent.includes('no render')")
        stranger.go("/studio/templates/none")
        stranger.wait("document.title === 'Template - Framekiln' && !!__find('div', 'no template')")
        # Ended in another tab; the page hears of it when it asks for its events again.
        stranger.run("fetch('/logout', {method: 'POST'})")
        stranger.run("document.dispatchEvent(new Event('visibilitychange'))")
        stranger.wait("document.title === 'Log in - Framekiln' && !!__labelled('Password')")


def test_a_reviewer_joins_by_a_link_and_sees_only_reviews(
    studio: StudioTab, account: Account, ordinary_browser: OrdinaryBrowser
) -> None:
    studio.open("/studio/people")
    studio.fill("E-mail address", "nobody@")
    studio.run("document.querySelector('input[name=email]').form.noValidate = true")
    studio.click("Invite")
    studio.wait("document.querySelector('[aria-invalid=true]')?.name === 'email'")
    studio.fill("E-mail address", "grace@example.org")
    studio.fill("Role", "reviewer")
    studio.click("Invite")
    link = studio.wait("document.querySelector('.note.good code')?.textContent")
    with ordinary_browser.open_tab() as tab:
        reviewer = StudioTab(tab, account.url)
        reviewer.open(link)
        reviewer.wait_text("grace@example.org is invited to")
        reviewer.fill("Choose a password", "short")
        reviewer.click("Join")
        reviewer.wait("document.querySelector('[aria-invalid=true]')?.name === 'password'")
        reviewer.fill("Choose a password", "a much longer one")
        reviewer.click("Join")
        reviewer.wait_text("Nothing waits for a review.")
        assert reviewer.run("location.pathname") == "/studio/reviews"
        entries = "[...document.querySelectorAll('nav a')].map((each) => each.textContent)"
        assert reviewer.run(entries) == [
            "Skip to the content",
            "Framekiln",
            "Reviews",
            "API reference",
        ]
        reviewer.open("/studio/settings")
        reviewer.wait_text("Not for your role")
        for path in ("/api/v1/renders", "/api/v1/keys", "/api/v1/audit", "/v2/videos"):
            assert reviewer.run(f"fetch('{path}').then((it) => it.status)") == 403
        assert reviewer.accessibility_problems() == []
        assert reviewer.errors == []
    studio.open("/studio/audit?action=member")
    studio.wait_text("member.joined")
    studio.wait_text("grace@example.org")
    studio.open("/studio/people")
    studio.wait("document.querySelector('[aria-label=\"Role of grace@example.org\"]')?.value")
    studio.fill("Role of grace@example.org", "member")
    studio.click("Save")
    studio.wait("![...document.querySelectorAll('button')].some((it) => it.textContent === 'Save')")
    role = "document.querySelector('[aria-label=\"Role of grace@example.org\"]').value"
    assert studio.run(role) == "member"
