"""How tests have the frames of pages made: as films are by default, or as the environment says.

`make e2e PAGE_METHOD=composed` runs goldens and conformance tests with composed frames.
"""

import os
from typing import Final

from framekiln.engine.film_order import FilmOrder, PageMethod

PAGE_METHOD: Final = PageMethod(
    os.environ.get("FRAMEKILN_TEST_PAGE_METHOD") or FilmOrder().page_method
)
