"""A walk through a page with Tab: what is never reached, traps the focus or does not show it."""

from typing import Any, Protocol

MAX_TABS = 300
_AT_ONCE = 10
_MAX_WALKS = 20

# What had the focus is looked at when the next key is pressed: then it has been scrolled to.
_BEGIN = """
(() => {
  const reached = new Set();
  const unseen = [];
  const toReach = () => [...document.querySelectorAll("a[href], button, input, select, textarea,"
    + " summary, audio[controls], video[controls], [tabindex], [contenteditable], [role=button],"
    + " [role=slider], [role=checkbox], [role=menuitem], [role=option], .editor")]
    .filter((each) => each.checkVisibility() && !each.disabled
      // Arrow keys go to the other tabs of a row, Page Up and Page Down to other keyframes.
      && !each.matches("[aria-hidden=true], [role=tab][aria-selected=false],"
        + " .review-diamond ~ .review-diamond"));
  const before = toReach();
  const walk = { reached, unseen, toReach, before, isOver: false };
  Object.assign(walk, { first: null, now: null, look: "" });
  const innermost = () => {
    let found = document.activeElement;
    while (found?.shadowRoot?.activeElement) found = found.shadowRoot.activeElement;
    return found;
  };
  const LOOKS = ["outline", "boxShadow", "borderColor", "backgroundColor", "stroke",
    "strokeWidth", "fill", "color", "visibility", "left"];
  const lookOf = (each) => [each, each.parentElement, each.getRootNode().host, ...each.children]
    .filter(Boolean).map((part) => getComputedStyle(part))
    .map((style) => LOOKS.map((name) => style[name]).join()).join();
  const isInView = (each) => {
    const { x, y, width, height } = each.getBoundingClientRect();
    const across = Math.min(Math.max(x + width / 2, 0), innerWidth - 1);
    const down = Math.min(Math.max(y + height / 2, 0), innerHeight - 1);
    const isOnScreen = x < innerWidth && y < innerHeight && x + width > 0 && y + height > 0;
    const hit = each.getRootNode().elementFromPoint(across, down);
    return isOnScreen && hit !== null && (each.contains(hit) || hit.contains(each));
  };
  const note = (each, what) => unseen.push(`${what}: ${each.outerHTML.slice(0, 200)}`);
  const onKey = () => {
    walk.now = innermost();
    if (walk.now === null || walk.now === document.body) return;
    walk.look = lookOf(walk.now);
    if (!isInView(walk.now)) note(walk.now, "has the focus out of view");
  };
  const onFocus = ({ target }) => {
    if (target === walk.first) walk.isOver = true;
    walk.first ??= target;
    reached.add(target);
  };
  const onBlur = () => {
    // Browsers draw the controls of films, and what they focus there. A date has several parts.
    const isLeft = walk.now !== null && !walk.now.matches(":focus");
    if (!isLeft || walk.now instanceof HTMLMediaElement) return;
    if (lookOf(walk.now) === walk.look) note(walk.now, "does not show the focus");
    walk.now = null;
  };
  document.activeElement?.blur();
  // Text and pictures that come late push what has the focus out of view.
  const shape = () => `${document.body.innerHTML} ${document.documentElement.scrollHeight}`;
  Object.assign(walk, { shape, shapeBefore: shape() });
  const listeners = [["keydown", onKey], ["focusin", onFocus], ["focusout", onBlur]];
  for (const [name, listen] of listeners) window.addEventListener(name, listen, true);
  walk.end = () => {
    for (const [name, listen] of listeners) window.removeEventListener(name, listen, true);
    document.activeElement?.blur();
  };
  window.__walk = walk;
})()
"""
_END = """
(() => {
  const { reached, unseen, toReach, before, shape, shapeBefore, isOver, end } = __walk;
  const last = document.activeElement?.outerHTML.slice(0, 200);
  end();
  const after = toReach();
  const hasChanged = shape() !== shapeBefore || after.length !== before.length
    || after.some((each, index) => each !== before[index]);
  const missed = after.filter((each) => !reached.has(each))
    .map((each) => `is never reached: ${each.outerHTML.slice(0, 200)}`);
  const problems = [...(isOver ? [] : [`keeps the focus: ${last}`]), ...missed, ...unseen];
  return { problems, hasChanged };
})()
"""


class WalkedPage(Protocol):
    """A page in a browser."""

    def run(self, script: str) -> Any: ...

    def press(self, key: str, **options: Any) -> None: ...


def keyboard_problems(page: WalkedPage) -> list[str]:
    """Press Tab until the focus is where it began; return what is wrong on the way.

    A walk beside which the page has changed is made again: the focus had passed by before, or was
    pushed out of view.
    """
    for _ in range(_MAX_WALKS):
        page.run(_BEGIN)
        for _ in range(MAX_TABS // _AT_ONCE):
            for _ in range(_AT_ONCE):
                page.press("Tab", windowsVirtualKeyCode=9)
            if page.run("__walk.isOver"):
                break
        found = page.run(_END)
        if not (found["problems"] and found["hasChanged"]):
            break
    problems: list[str] = found["problems"]
    return problems
