"""The two clocks of a page, both under our control: frame ticks and virtual time.

Frame ticks drive CSS, requestAnimationFrame and SMIL; virtual time drives timers, performance.now
and Date. Both start at the same instant, and neither advances by itself.
"""

import time
from dataclasses import dataclass
from typing import Final

from framekiln.capture.cdp import Params
from framekiln.capture.page_scripts import EPOCH_MS
from framekiln.capture.page_session import PageSession

# Chromium does no work while time is stopped; this advance is too small to notice.
CREEP_US: Final = 1
# Chromium adds a random per-process jitter to animation times off a 0.1 ms grid. Frames are aligned
# to this grid, so that every run draws the same image.
TICK_GRID_US: Final = 100


@dataclass(frozen=True)
class DrawnFrame:
    """The result of drawing one frame."""

    has_damage: bool
    """Whether any pixel may differ from the previous frame."""
    screenshot: str | None
    """Base64 of the screenshot, if one was requested."""


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
        """The tick of the last frame; 0 before the first."""
        return self._tick_us

    @property
    def zero_tick_us(self) -> int:
        """The tick of frame 0; 0 unless frames were drawn before it."""
        return self._zero_tick_us

    def stop(self) -> None:
        """Stop virtual time; frame ticks count from the same instant."""
        policy = {"policy": "pause", "initialVirtualTime": EPOCH_MS / 1000}
        answer = self._session.call("Emulation.setVirtualTimePolicy", policy)
        self._base_us = round(answer["virtualTimeTicksBase"] * 1000)
        self._tick_us = 0

    def set_zero(self) -> dict[str, float]:
        """Set time zero to now; return both clock values for the page's runtime."""
        self._zero_virtual_us = self._virtual_us
        if self._tick_us > 0:
            # Frames were drawn while the page delayed readiness: frame 0 needs a new tick.
            self._zero_tick_us = self._tick_us + TICK_GRID_US
        return {"virtualMs": self._zero_virtual_us / 1000, "tickMs": self._zero_tick_us / 1000}

    def advance(self, by_us: int) -> None:
        """Advance virtual time; due timers fire, and pending requests pause it."""
        if by_us <= 0:
            return
        seen = self._budgets_expired
        policy = {"policy": "pauseIfNetworkFetchesPending", "budget": _whole_us(by_us)}
        self._session.call("Emulation.setVirtualTimePolicy", policy)
        self._session.wait_until(lambda: self._budgets_expired > seen)
        self._virtual_us += by_us
        self._session.raise_failure()

    def advance_to(self, at_us: int) -> None:
        """Advance virtual time to this long after zero."""
        self.advance(self._zero_virtual_us + at_us - self._virtual_us)

    def draw_at(
        self, at_us: int, *, screenshot: Params | None = None, is_shown: bool = True
    ) -> DrawnFrame:
        """Draw the frame at this time after zero; if it is not shown, only its scripts run."""
        on_grid_us = round(at_us / TICK_GRID_US) * TICK_GRID_US
        return self._draw(self._zero_tick_us + on_grid_us, screenshot, is_shown=is_shown)

    def draw_after(self, by_us: int, *, screenshot: Params | None = None) -> DrawnFrame:
        """Draw again, this much later than the last frame."""
        return self._draw(self._tick_us + by_us, screenshot)

    def _draw(
        self, tick_us: int, screenshot: Params | None, *, is_shown: bool = True
    ) -> DrawnFrame:
        params: Params = {"frameTimeTicks": _whole_us(self._base_us + tick_us), "interval": 16.0}
        if not is_shown:
            params["noDisplayUpdates"] = True
        if screenshot is not None:
            params["screenshot"] = screenshot
        answer = self._session.draw(params)
        self._tick_us = tick_us
        self._session.raise_failure()
        return DrawnFrame(
            has_damage=bool(answer["hasDamage"]), screenshot=answer.get("screenshotData")
        )

    def _on_budget_expired(self, _params: Params) -> None:
        self._budgets_expired += 1


def _whole_us(us: int) -> float:
    """Return milliseconds that Chromium, which truncates fractions, converts to exactly `us`.

    Without the half, 33.366 ms became 33365 us, and two frames could have the same tick.
    """
    return (us + 0.5) / 1000
