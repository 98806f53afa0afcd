"""Workers of a page: every frame shows what they draw for it (OffscreenCanvas), and send for it.

Each draws or sends a shade of green for each frame, so that a late picture is noticed.
"""

import pytest

from framekiln.capture.browser import Browser
from tests.support.compositions import load_composition

FRAMES = 6
PEN = """
  let pen = null;
  const draw = (n) => {
    pen.fillStyle = `rgb(0, ${n * 20}, 0)`;
    pen.fillRect(0, 0, 320, 240);
  };
"""
# Longer than Chromium waits for anything, if it waits at all.
SLOW = "for (let i = 0; i < 2e7; i += 1) Math.sqrt(i);"


BY_MESSAGES = """
  let n = 0;
  requestAnimationFrame(function report() {
    n += 1;
    worker.postMessage({ n });
    requestAnimationFrame(report);
  });
"""


def page(worker: str, script: str = "") -> str:
    return f"""<body data-duration-ms="1000" style="margin:0;background:#00f">
      <canvas id="canvas" width="320" height="240"></canvas>
      <script id="source" type="text/plain">{PEN}{worker}</script>
      <script>
        const worker = new Worker(URL.createObjectURL(new Blob([source.textContent])));
        const handedOver = canvas.transferControlToOffscreen();
        worker.postMessage({{ handedOver }}, [handedOver]);
        {script}
      </script>"""


def greens(browser: Browser, html: str) -> list[int]:
    """The green of each frame, in steps of 20; -1 where nothing is drawn."""
    with load_composition(browser, html) as film:
        seen = [film.frame(number)[120, 160].tolist() for number in range(FRAMES)]
    return [-1 if blue else green // 20 for _, green, blue in seen]


def answering(worker: str) -> str:
    """Return a page that shows what a worker sends, which draws nothing."""
    return f"""<body data-duration-ms="1000" style="margin:0">
      <script id="source" type="text/plain">{worker}</script>
      <script>
        const worker = new Worker(URL.createObjectURL(new Blob([source.textContent])));
        worker.onmessage = ({{ data }}) => {{
          document.body.style.background = `rgb(0, ${{data * 20}}, 0)`;
        }};
        {BY_MESSAGES}
      </script>"""


TAKE = "onmessage = ({ data }) => { pen = data.handedOver.getContext('2d'); %s }"
LISTEN = """onmessage = ({ data }) => {
  if (data.handedOver) pen = data.handedOver.getContext("2d");
  else { %s }
}"""
COUNTED = [1, 2, 3, 4, 5, 6]
CASES = {
    "once": (page(TAKE % "draw(3)"), [3] * FRAMES),
    "once, slowly": (page(SLOW + TAKE % f"{SLOW} draw(3)"), [3] * FRAMES),
    "in frames that it counts": (
        page(
            TAKE
            % "let n = 0; (function f() { if (n) draw(n); n += 1; requestAnimationFrame(f) })()"
        ),
        COUNTED,
    ),
    "in frames, by their time": (
        page(
            TAKE % "requestAnimationFrame(function f(ms) { requestAnimationFrame(f);"
            " draw(performance.now() === ms ? 1 + Math.round(ms * 30 / 1000) : 0) })"
        ),
        COUNTED,
    ),
    "in some frames": (
        page(
            TAKE % "requestAnimationFrame(function f(ms) { const n = Math.round(ms * 30 / 1000);"
            f" if (n % 3 === 0) {{ {SLOW} draw(1 + n) }} requestAnimationFrame(f) }})"
        ),
        [1, 1, 1, 4, 4, 4],
    ),
    "in frames, with WebGL": (
        page(
            "onmessage = ({ data }) => { const gl = data.handedOver.getContext('webgl'); let n = 0;"
            " requestAnimationFrame(function f() { n += 1; gl.clearColor(0, n * 20 / 255, 0, 1);"
            " gl.clear(gl.COLOR_BUFFER_BIT); requestAnimationFrame(f) }) }"
        ),
        COUNTED,
    ),
    "by messages": (page(LISTEN % "draw(data.n)", BY_MESSAGES), COUNTED),
    "by messages, slowly": (page(LISTEN % f"{SLOW} draw(data.n)", BY_MESSAGES), COUNTED),
    "by messages, in frames": (
        page(LISTEN % "requestAnimationFrame(() => draw(data.n))", BY_MESSAGES),
        COUNTED,
    ),
    "by random numbers": (
        page(
            TAKE % "requestAnimationFrame(function f() { draw(Math.floor(Math.random() * 6));"
            " requestAnimationFrame(f) })"
        ),
        [4, 0, 1, 0, 4, 0],
    ),
    "by messages to the page": (
        answering(f"onmessage = ({{ data }}) => {{ {SLOW} postMessage(data.n) }}"),
        COUNTED,
    ),
    "by messages to the page, after a request": (
        answering(
            "onmessage = async ({ data }) => {"
            " const { width } = await createImageBitmap(new ImageData(data.n, 2000));"
            " const text = await (await fetch('data:,' + width)).text(); postMessage(text) }"
        ),
        COUNTED,
    ),
    "by timers": (
        page(TAKE % "let n = 1; draw(n); setInterval(() => { n += 1; draw(n) }, 33)"),
        COUNTED,
    ),
}


@pytest.mark.parametrize(("html", "expected"), CASES.values(), ids=CASES)
def test_every_frame_shows_what_a_worker_draws_for_it(
    browser: Browser, html: str, expected: list[int]
) -> None:
    assert greens(browser, html) == expected


def test_a_script_of_the_page_draws_in_each_frame_on_such_a_canvas_itself(browser: Browser) -> None:
    html = """<body data-duration-ms="1000" style="margin:0;background:#00f">
      <canvas id="canvas" width="320" height="240"></canvas>
      <script>
        const pen = canvas.transferControlToOffscreen().getContext("2d");
        let n = 0;
        requestAnimationFrame(function draw() {
          n += 1;
          pen.fillStyle = `rgb(0, ${n * 20}, 0)`;
          pen.fillRect(0, 0, 320, 240);
          requestAnimationFrame(draw);
        });
      </script>"""
    assert greens(browser, html) == COUNTED


def test_a_worker_that_closes_itself_does_not_block_the_film(browser: Browser) -> None:
    # Like any browser, Chromium loses what it drew in its last breath.
    assert len(greens(browser, page(TAKE % "close()"))) == FRAMES


def test_workers_receive_only_messages_of_the_page(browser: Browser) -> None:
    worker = """
      const heard = [];
      addEventListener("message", ({ data }) => {
        heard.push(Object.keys(data));
        if (data.handedOver) data.handedOver.getContext("2d");
        if (data.last) postMessage(heard);
      });
    """
    script = """
      window.said = [];
      worker.onmessage = ({ data }) => said.push(data);
      requestAnimationFrame(() => worker.postMessage({ last: true }));
    """
    with load_composition(browser, page(worker, script)) as film:
        film.at(0, "0")
        assert film.at(1, "said") == [[["handedOver"], ["last"]]]
