"""Pages that draw by script: frame tasks, counters, animation libraries, WebGL."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conformance import BAR_PX, HEIGHT, WIDTH, bar, edge_px, film, group, levels, scene
from tests.e2e.conftest import FilmHarness
from tests.support.frame_codes import Picture
from tests.support.libraries import module_makers, with_libraries
from tests.support.local_assets import MEDIA_ORIGIN, LocalAssets
from tests.support.looks import colour_at

PLAIN: dict[str, Any] = {"fps": Fraction(20), "duration_ms": 2000}
CANVAS = f"""<canvas width={WIDTH} height={HEIGHT} style="position:absolute;left:0;top:0"></canvas>
<script>
const pen = document.querySelector("canvas").getContext("2d");
function draw(ms) {{
  pen.clearRect(0, 0, {WIDTH}, {HEIGHT});
  pen.fillStyle = "#fff";
  pen.fillRect(ms / 10, 0, {BAR_PX}, {HEIGHT});
}}
</script>"""


def edges(pictures: list[Picture]) -> list[float]:
    return [edge_px(picture) for picture in pictures]


TASKS = {
    "object": "root.addFrameTask(({ ownCurrentTimeMs }) => draw(ownCurrentTimeMs));",
    "share": "root.addFrameTask(({ percentComplete }) => draw(percentComplete * 2000));",
    "positional": "root.addFrameTask((ms, durationMs) => draw(ms + (durationMs - 2000)));",
    "number made of it": "root.addFrameTask((ms) => draw(Number(ms)));",
    "initializer": """root.initializer = (it) => {
      it.addFrameTask(({ currentTimeMs, element }) => { if (element === root) draw(currentTimeMs) })
    };""",
    "handler": "root.onFrame = (info) => draw(info.ownCurrentTimeMs);",
}
ROW_PX = HEIGHT // len(TASKS)


def test_case_14_a_frame_task_draws_each_frame_at_its_time(harness: FilmHarness) -> None:
    """Every kind of task draws into a row of its own."""
    rows = "".join(
        f"<script>{{ const draw = (ms) => drawRow(ms, {row}); {task} }}</script>"
        for row, task in enumerate(TASKS.values())
    )
    draw_row = f"""<script>function drawRow(ms, row) {{
      pen.clearRect(0, row * {ROW_PX}, {WIDTH}, {ROW_PX});
      pen.fillStyle = "#fff";
      pen.fillRect(ms / 10, row * {ROW_PX}, {BAR_PX}, {ROW_PX});
    }}</script>"""
    rendered = film(harness, scene(CANVAS + draw_row + rows, 'duration="2s" fps="10"'))
    for row, name in enumerate(TASKS):
        y = row * ROW_PX + ROW_PX // 2
        found = [edge_px(picture, y) for picture in rendered.pictures]
        assert found == pytest.approx([10 * n for n in range(20)], abs=1), name


def test_case_14_a_nested_task_runs_on_the_clock_of_its_own_scene(harness: FilmHarness) -> None:
    task = "inner.addFrameTask(({ ownCurrentTimeMs }) => draw(ownCurrentTimeMs))"
    later = group('id="inner" duration="1s"', CANVAS)
    html = scene(group('duration="500ms"', bar(0)) + later, 'mode="sequence" fps="10"')
    rendered = film(harness, f"{html}<script>{task}</script>")
    assert edges(rendered.pictures) == pytest.approx([0] * 5 + [10 * n for n in range(10)], abs=1)


WAITS = {
    "microtask": "await null;",
    "timer": "await new Promise((done) => setTimeout(done, 7));",
    "timers": "for (let n = 0; n < 5; n += 1) await new Promise((done) => setTimeout(done, 1));",
    "image": """const image = new Image();
      image.src = `data:image/svg+xml,<svg xmlns="http://www.w3.org/2000/svg" width="${1 + ms}"/>`;
      await image.decode().catch(() => null);""",
    "digest": "await crypto.subtle.digest('SHA-256', new Uint8Array(1 << 20));",
}


@pytest.mark.parametrize(
    ("name", "owner"), [("timer", "inner"), *((name, "root") for name in WAITS)]
)
def test_case_15_a_frame_waits_for_its_async_task(
    harness: FilmHarness, name: str, owner: str
) -> None:
    task = f"""<script>{owner}.addFrameTask(async ({{ currentTimeMs: ms }}) => {{
      {WAITS[name]}
      draw(ms);
    }})</script>"""
    inner = group('id="inner" duration="1s"', CANVAS)
    rendered = film(harness, scene(inner, 'duration="1s" fps="10"') + task)
    assert edges(rendered.pictures) == pytest.approx([10 * n for n in range(10)], abs=1)


BITS = 8


@pytest.mark.parametrize("fps", [Fraction(30), Fraction(30000, 1001)], ids=str)
@pytest.mark.parametrize("door", ["page", "composition"])
def test_case_18_a_frame_counter_counts_every_frame_once(
    harness: FilmHarness, fps: Fraction, door: str
) -> None:
    bits = "".join(bar(n) for n in range(BITS))
    count = f"""<script>
    const bits = [...document.querySelectorAll(".bar")];
    let frame = 0;
    requestAnimationFrame(function tick(stampMs) {{
      const due = Math.round(stampMs * {fps.numerator} / {fps.denominator * 1000});
      bits.forEach((bit, n) => {{
        bit.style.opacity = frame === due && frame >> n & 1 ? 1 : 0;
      }});
      frame += 1;
      requestAnimationFrame(tick);
    }});
    </script>"""
    order = {**PLAIN, "fps": fps, "duration_ms": 1000}
    page = f"<body style='background:#000'>{bits}{count}"
    rendered = film(harness, scene(bits + count) if door == "composition" else page, **order)
    shown = [
        sum((value > 0.5) << n for n, value in enumerate(frame))
        for frame in zip(*(levels(rendered, n) for n in range(BITS)), strict=True)
    ]
    assert shown == list(range(30))
    assert [frame.pts for frame in rendered.frames] == [n / fps for n in range(30)]


BOX = bar(0).replace('class="bar"', 'id="box"')
LOTTIE = {
    "v": "5.7.0",
    "fr": 30,
    "ip": 0,
    "op": 60,
    "w": WIDTH,
    "h": HEIGHT,
    "assets": [],
    "layers": [
        {
            "ty": 4,
            "ip": 0,
            "op": 60,
            "st": 0,
            "sr": 1,
            "bm": 0,
            "ks": {
                "o": {"a": 0, "k": 100},
                "r": {"a": 0, "k": 0},
                "a": {"a": 0, "k": [0, 0, 0]},
                "s": {"a": 0, "k": [100, 100, 100]},
                "p": {
                    "a": 1,
                    "k": [
                        {
                            "t": 0,
                            "s": [20, 90, 0],
                            "e": [220, 90, 0],
                            "i": {"x": 1, "y": 1},
                            "o": {"x": 0, "y": 0},
                        },
                        {"t": 60, "s": [220, 90, 0]},
                    ],
                },
            },
            "shapes": [
                {
                    "ty": "rc",
                    "d": 1,
                    "s": {"a": 0, "k": [BAR_PX, HEIGHT]},
                    "p": {"a": 0, "k": [0, 0]},
                    "r": {"a": 0, "k": 0},
                },
                {"ty": "fl", "c": {"a": 0, "k": [1, 1, 1, 1]}, "o": {"a": 0, "k": 100}},
            ],
        }
    ],
}
HOLDER = '<div id="holder" style="position:absolute;inset:0"></div>'
LIBRARIES = {
    "gsap": f"""<script data-library="gsap"></script>{BOX}
      <script>gsap.to("#box", {{ x: 200, duration: 2, ease: "none" }})</script>""",
    "gsap timeline": f"""<script data-library="gsap"></script>{BOX}<script>
      gsap.timeline().to("#box", {{ x: 100, duration: 1, ease: "none" }})
        .to("#box", {{ x: 200, duration: 1, ease: "none" }});</script>""",
    "anime": f"""<script data-library="anime"></script>{BOX}
      <script>anime.animate("#box", {{ x: 200, duration: 2000, ease: "linear" }})</script>""",
    "p5": f"""<script data-library="p5"></script>
      <style>canvas {{ position: absolute; left: 0; top: 0 }}</style><script>
      function setup() {{ createCanvas({WIDTH}, {HEIGHT}); noStroke(); fill(255); }}
      function draw() {{ background(0); rect(millis() / 10, 0, {BAR_PX}, {HEIGHT}); }}</script>""",
    "lottie": f"""<script data-library="lottie"></script>{HOLDER}<script>
      lottie.loadAnimation({{ container: holder, renderer: "svg", loop: false, autoplay: true,
        animationData: {json.dumps(LOTTIE)} }})</script>""",
    "lottie on canvas": f"""<script data-library="lottie"></script>{HOLDER}<script>
      lottie.loadAnimation({{ container: holder, renderer: "canvas", loop: false, autoplay: true,
        animationData: {json.dumps(LOTTIE)} }})</script>""",
}


@pytest.mark.parametrize("name", LIBRARIES)
def test_case_19_a_library_moves_100_pixels_a_second(harness: FilmHarness, name: str) -> None:
    html = with_libraries(f"<body style='background:#000'>{LIBRARIES[name]}")
    rendered = film(harness, html, **PLAIN)
    assert edges(rendered.pictures) == pytest.approx([5 * n for n in range(40)], abs=1)


def test_case_19_gsap_below_2_fps(harness: FilmHarness) -> None:
    """It shortened steps of over half a second to 33 ms."""
    html = with_libraries(scene(LIBRARIES["gsap"], 'duration="2s" fps="1"'))
    assert edges(film(harness, html).pictures) == pytest.approx([0, 100], abs=1)


def test_case_19_a_library_inside_a_composition(harness: FilmHarness) -> None:
    html = with_libraries(scene(LIBRARIES["gsap"], 'duration="2s" fps="20"'))
    rendered = film(harness, html)
    assert edges(rendered.pictures) == pytest.approx([5 * n for n in range(40)], abs=1)


THREE = f"""<body><script type="module">
import * as THREE from "{MEDIA_ORIGIN}npm/three/build/three.module.js";
const renderer = new THREE.WebGLRenderer();
renderer.setSize({WIDTH}, {HEIGHT});
renderer.domElement.style.cssText = "position:absolute;left:0;top:0";
document.body.append(renderer.domElement);
const world = new THREE.Scene();
const camera = new THREE.OrthographicCamera(-2, 2, 1, -1, 0, 10);
camera.position.z = 5;
const paint = new THREE.MeshBasicMaterial({{ color: 0xffffff }});
const box = new THREE.Mesh(new THREE.PlaneGeometry(0.5, 2), paint);
world.add(box);
renderer.setAnimationLoop((ms) => {{
  const green = Math.round(ms / 10) / 255;
  renderer.setClearColor(new THREE.Color().setRGB(0, green, 0, THREE.SRGBColorSpace));
  box.position.x = -1.75 + ms / 800;
  renderer.render(world, camera);
}});
</script>"""


def test_case_20_webgl_shows_the_clear_colour_of_its_time(
    harness: FilmHarness, tmp_path: Path
) -> None:
    media = LocalAssets(tmp_path, module_makers())
    rendered = film(harness, THREE, media, **PLAIN)
    greens = [colour_at(picture, WIDTH - 10, 90)[1] for picture in rendered.pictures]
    assert greens == pytest.approx([5 * n for n in range(40)], abs=3)
    # A bar of white moves over it, from the left edge.
    for n, picture in enumerate(rendered.pictures):
        assert colour_at(picture, 20 + 5 * n, 90) == pytest.approx((255, 255, 255), abs=4)


def test_case_27_scripts_can_read_the_render_data(harness: FilmHarness) -> None:
    data = '<script>window.EF_RENDER_DATA = { colour: "#0000ff", bars: [1, 3] }</script>'
    use = """<script>
    const { colour, bars } = window.EF_RENDER_DATA;
    root.style.background = colour;
    document.querySelectorAll(".bar").forEach((bar, n) => { bar.hidden = !bars.includes(n) });
    </script><style>[hidden] { display: none !important }</style>"""
    content = "".join(bar(n) for n in range(5))
    rendered = film(harness, data + scene(content, 'duration="200ms" fps="10"') + use)
    (picture, *_) = rendered.pictures
    shown = [colour_at(picture, BAR_PX * n + BAR_PX // 2, 90) for n in range(5)]
    blue, white = pytest.approx((0, 0, 255), abs=4), pytest.approx((255, 255, 255), abs=4)
    assert shown == [blue, white, blue, white, blue]
