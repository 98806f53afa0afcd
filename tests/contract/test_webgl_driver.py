"""WebGL that Mesa draws, where it is installed: pages are captured as ever."""

from ctypes.util import find_library
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from framekiln.capture.browser import open_browser
from framekiln.capture.browser_limits import BrowserLimits
from framekiln.engine.film import open_renderer
from framekiln.engine.film_order import FilmLimits, FilmOrder
from framekiln.settings import Settings

# It draws green where the driver is llvmpipe.
PAGE = """<style>body { margin: 0 }</style><canvas width="64" height="64"></canvas><script>
const gl = document.querySelector("canvas").getContext("webgl", { preserveDrawingBuffer: true });
const names = gl.getExtension("WEBGL_debug_renderer_info");
const isMesa = /llvmpipe/.test(gl.getParameter(names.UNMASKED_RENDERER_WEBGL));
gl.clearColor(isMesa ? 0 : 1, isMesa ? 1 : 0, 0, 1);
gl.clear(gl.COLOR_BUFFER_BIT);</script>"""
HAS_MESA = find_library("EGL") is not None and any(Path("/usr/lib").glob("*/dri/swrast_dri.so"))


@pytest.mark.skipif(not HAS_MESA, reason="Mesa is not installed")
def test_mesa_draws_webgl_where_the_setting_says_so() -> None:
    limits = BrowserLimits.of(Settings(FRAMEKILN_WEBGL="llvmpipe"))
    order = FilmOrder(PAGE, 64, 64, fps=Fraction(10), duration_ms=200)
    with (
        open_browser(limits=limits) as browser,
        open_renderer(order, browser, FilmLimits()) as film,
    ):
        frame = film.render_frame(1)
        record = film.take_record()
    assert (record.grabbing, record.fallback_reason) == ("raw-memory", None)
    assert np.array_equal(np.unique(frame[..., :3].reshape(-1, 3), axis=0), [[0, 255, 0]])
