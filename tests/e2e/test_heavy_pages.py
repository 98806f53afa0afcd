"""Pages that ask for much, or are badly written, and still are right films."""

import pytest

from tests.e2e.conftest import FilmHarness
from tests.support.looks import colour_at

GREEN = "document.body.style.background = '#0f0'"
CANVAS_8K = """<body style="margin:0;overflow:hidden"><canvas width="7680" height="4320"></canvas>
<script>
  const pen = document.querySelector("canvas").getContext("2d");
  requestAnimationFrame(function draw() {
    pen.fillStyle = "#0f0";
    pen.fillRect(0, 0, 7680, 4320);
    requestAnimationFrame(draw);
  });
</script>"""
LAYOUT_LOOP = f"""<div style="width:10px"></div><script>
  const box = document.querySelector("div");
  new ResizeObserver(() => {{
    box.style.width = `${{box.offsetWidth % 500 + 1}}px`;
    {GREEN};
  }}).observe(box);
</script>"""
BROKEN_MARKUP = f"""<table><tr><div></span><p <b>unclosed <<<>> &nosuch; <img onerror="">
  <style>body {{ background: #00f; }} @media {{ <script>{GREEN}</script></style>
  <script>{GREEN}</script>"""


@pytest.mark.parametrize(
    "html", [CANVAS_8K, LAYOUT_LOOP, BROKEN_MARKUP], ids=["8k canvas", "layout loop", "markup"]
)
def test_heavy_and_untidy_pages_are_filmed(harness: FilmHarness, html: str) -> None:
    rendered = harness.film(html, duration_ms=300)
    assert len(rendered.frames) == 3
    red, green, blue = colour_at(rendered.pictures[-1], 600, 340)
    assert green > 200
    assert max(red, blue) < 60
