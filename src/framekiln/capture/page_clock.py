"""The two clocks of a page, which are ours: frame ticks and virtual time.

Frame ticks move CSS, requestAnimationFrame and SMIL; virtual time moves timers, performance.now and
Date. Both start at the same instant, and neither moves by itself.
"""

import time
from dataclasses import dataclass
from typing import Final

from framekiln.capture.cdp import Params
from framekiln.capture.page_scripts import EPOCH_MS
from framekiln.capture.page_session import PageSession

# Chromium does no work at a standstill; so little time nobody can notice.
CREEP_US: Final = 1
# Chromium blurs animation times that are not whole tenths of a millisecond with a random secret
# of the process: frames fall on this grid, so that every run draws the same picture.
TICK_GRID_US: Final = 100


@dataclass(frozen=True)
class DrawnFrame:
    """What came of drawing one frame."""

    has_damage: bool
    """Whether any pixel may differ from the frame before."""
    screenshot: str | None
    """Base64 of the picture, if one was asked for."""


class PageClock:
    """Moves one page through time."""

    def __init__(self, session: PageSession) -> None:
        self._session = session
        self._budgets_expired = 0
        self._base_us = time.monotonic_ns() // 1000
        self._virtual_us = 0
        self._tick_us = 0
        self._zero_virtual_us = 0
        self._zero_tick_us = 0
        session.listen("Emulation.virtualTimeBudgetExpired", self._on_budget_expired)

    @property
    def tick_us(self) -> int:
        """When the last frame was drawn; 0 before the first."""
        return self._tick_us

    def stop(self) -> None:
        """Freeze virtual time; frame ticks count from the same instant."""
        policy = {"policy": "pause", "initialVirtualTime": EPOCH_MS / 1000}
        answer = self._session.call("Emulation.setVirtualTimePolicy", policy)
        self._base_us = round(answer["virtualTimeTicksBase"] * 1000)
        self._tick_us = 0

    def set_zero(self) -> dict[str, float]:
        """Count from now on, and return what both clocks show, as the page's runtime reads it."""
        self._zero_virtual_us = self._virtual_us
        if self._tick_us > 0:
            # Frames were drawn while the page held us up: frame 0 needs a tick of its own.
            self._zero_tick_us = self._tick_us + TICK_GRID_US
        return {"virtualMs": self._zero_virtual_us / 1000, "tickMs": self._zero_tick_us / 1000}

    def advance(self, by_us: int) -> None:
        """Let virtual time run on; timers due meanwhile fire, pending requests hold it."""
        if by_us <= 0:
            return
        seen = self._budgets_expired
        policy = {"policy": "pauseIfNetworkFetchesPending", "budget": _whole_us(by_us)}
        self._session.call("Emulation.setVirtualTimePolicy", policy)
        self._session.wait_until(lambda: self._budgets_expired > seen)
        self._virtual_us += by_us
        self._session.raise_failure()

    def advance_to(self, at_us: int) -> None:
        """Let virtual time run on until so long after zero."""
        self.advance(self._zero_virtual_us + at_us - self._virtual_us)

    def draw_at(self, at_us: int, *, screenshot: Params | None = None) -> DrawnFrame:
        """Draw the frame of an instant after zero."""
        on_grid_us = round(at_us / TICK_GRID_US) * TICK_GRID_US
        return self._draw(self._zero_tick_us + on_grid_us, screenshot)

    def draw_after(self, by_us: int, *, screenshot: Params | None = None) -> DrawnFrame:
        """Draw once more, so much later than the last time."""
        return self._draw(self._tick_us + by_us, screenshot)

    def _draw(self, tick_us: int, screenshot: Params | None) -> DrawnFrame:
        params: Params = {"frameTimeTicks": _whole_us(self._base_us + tick_us), "interval": 16.0}
        if screenshot is not None:
            params["screenshot"] = screenshot
        answer = self._session.call("HeadlessExperimental.beginFrame", params)
        self._tick_us = tick_us
        self._session.raise_failure()
        return DrawnFrame(
            has_damage=bool(answer["hasDamage"]), screenshot=answer.get("screenshotData")
        )

    def _on_budget_expired(self, _params: Params) -> None:
        self._budgets_expired += 1


def _whole_us(us: int) -> float:
    """Return milliseconds that Chromium, which cuts off fractions, takes for exactly `us`.

    Without the half, 33.366 ms became 33365 us, and two frames could fall on one tick.
    """
    return (us + 0.5) / 1000
