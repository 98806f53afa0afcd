"""Libraries that are common in pages, as installed by `npm ci` in tests/e2e/libraries.

A page names one with `<script data-library="gsap"></script>` and gets its text there, since pages
have no network. Modules are loaded by URL: see `module_makers`.
"""

import re
import shutil
from functools import cache, partial
from pathlib import Path

from tests.support.local_assets import Maker

FOLDER = Path(__file__).parents[1] / "e2e" / "libraries" / "node_modules"
SCRIPTS = {
    "anime": "animejs/dist/bundles/anime.umd.min.js",
    "chart": "chart.js/dist/chart.umd.min.js",
    "d3": "d3/dist/d3.min.js",
    "gsap": "gsap/dist/gsap.min.js",
    "howler": "howler/dist/howler.min.js",
    "lottie": "lottie-web/build/player/lottie.min.js",
    "p5": "p5/lib/p5.min.js",
    "tone": "tone/build/Tone.js",
}
MODULES = ("three/build/three.module.js", "three/build/three.core.js")
PLACEHOLDER = re.compile(r'<script data-library="([a-z0-9]+)"></script>')


def with_libraries(html: str) -> str:
    """Return the page with the text of every library it names."""
    return PLACEHOLDER.sub(lambda found: f"<script>{_script(found[1])}</script>", html)


def module_makers() -> dict[str, Maker]:
    """Return the functions that write each module, by its path among the media of a test."""
    return {f"npm/{name}": partial(shutil.copyfile, FOLDER / name) for name in MODULES}


@cache
def _script(name: str) -> str:
    # The only sequence that would end the script element.
    return (FOLDER / SCRIPTS[name]).read_text("utf-8").replace("</script", "<\\/script")
