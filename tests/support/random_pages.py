"""Random pages with known motion: the same page for the same seed.

Most of them can be composed; a few have something that cannot.
"""

from random import Random
from typing import Final

WIDTH_PX, HEIGHT_PX, FPS, DURATION_MS = 320, 180, 30, 1600
_TEXTS: Final = ("Framekiln", "A longer line of text", "Quick, brown fox", "17 %", "Wave gently")
_FONTS: Final = ("DejaVu Sans", "DejaVu Serif", "Liberation Sans", "Liberation Serif", "monospace")
_PICTURES: Final = ("dawn.jpg", "noon.jpg", "dusk.jpg")
_VIDEOS: Final = ("footage.mp4", "head.mp4", "late.mp4", "tall.mp4")
_EASINGS: Final = (
    *("linear", "ease", "ease-in", "ease-out", "ease-in-out", "cubic-bezier(.3, 1.6, .6, -.4)"),
    *("steps(1)", "steps(3, jump-both)", "steps(4, start)", "steps(5, jump-none)"),
    "linear(0, .7 20%, .2 60%, 1)",
)
_ODD: Final = (
    *("isolation: isolate", "will-change: transform", "overflow: hidden", "overflow: clip"),
    *("contain: paint", "clip-path: inset(3px 8px)", "clip-path: circle(40%)"),
    *("clip-path: polygon(0 0, 100% 10%, 80% 100%)", "rotate: 4deg", "opacity: .7", "scale: 1.1"),
    *("translate: 3.5px 2.25px", "filter: drop-shadow(2px 3px 2px #0008)", "filter: blur(1px)"),
    *("mix-blend-mode: screen", "outline: 2px solid #fa0", "writing-mode: vertical-rl"),
    *("backface-visibility: hidden", "visibility: hidden", "direction: rtl", "float: right"),
    *("mask-image: linear-gradient(#000, #0000)", "-webkit-text-stroke: 1px #f06"),
    "background: linear-gradient(90deg, #f60, #06f); background-clip: text; color: #0000",
    *("text-decoration: underline wavy", "letter-spacing: .15em", "border-image: none"),
    *("columns: 2", "font-style: italic", "box-sizing: border-box", "perspective: 300px"),
    *("transform-origin: 10% 90%", "offset-path: none", "zoom: 1.2", "position: fixed"),
)


class _PageWriter:
    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        self._rules: list[str] = []
        self._names = 0
        self._motions = 0
        # Text and boxes that are only moved can be composed without being asked for it.
        self._is_upright = self._chance(0.75)
        self._oddity = self._random.choice((0.0, 0.05, 0.2))
        self._is_timed = self._chance(0.5)

    def page(self, *, has_footage: bool) -> str:
        pieces = self._footage() if has_footage else ""
        pieces += "".join(self._piece(0) for _ in range(self._random.randint(2, 6)))
        if self._is_timed:
            look = f"width: {WIDTH_PX}px; height: {HEIGHT_PX}px; {self._background()}"
            pieces = (
                f'<ef-timegroup mode="fixed" duration="{DURATION_MS}ms" style="{look}">'
                f"{pieces}</ef-timegroup>"
            )
        font = f'{self._random.randint(12, 26)}px "{self._random.choice(_FONTS)}"'
        body = f"margin: 0; color: {self._colour()}; font: {font}; {self._background()}"
        rules = "\n".join(self._rules)
        return f"<!doctype html><style>\nbody {{ {body} }}\n{rules}\n</style>\n{pieces}"

    def _piece(self, depth: int) -> str:
        kinds = [self._text, self._text, self._box, self._box, self._picture]
        if not self._is_upright:
            kinds.append(self._drawing)
        if depth < 3:
            kinds += [self._group, self._group, self._group]
        if self._is_timed:
            kinds += [self._timed, self._timed, self._video, self._captions]
        return self._random.choice(kinds)(depth)

    def _text(self, depth: int) -> str:
        style = [f"font-size: {self._random.randint(10, 38)}px", f"color: {self._colour()}"]
        style += self._some(
            ("font-weight: 700", 0.3),
            ("text-shadow: 1px 2px 3px #000a", 0.2),
            # Text with a box is sharp on whole pixels only.
            (f"background: {self._colour()}; padding: 3px 7px", 0.02 if self._is_upright else 0.3),
            ("width: 90px", 0.2),
        )
        words = self._random.choice(_TEXTS)
        if self._chance(0.2):
            words = f"{words[:5]}<b{self._named(['display: inline-block'])}>{words[5:]}</b>"
        return f"<p{self._placed(style, depth)}>{words}</p>\n"

    def _box(self, depth: int) -> str:
        style = [*self._sizes(), self._background()]
        style += self._some(
            (f"border: {self._random.randint(1, 6)}px solid {self._colour()}", 0.3),
            (f"border-radius: {self._random.choice(('4px', '13px', '50%', '5px 20px'))}", 0.4),
            (f"box-shadow: 2px 4px 9px {self._colour()}", 0.25),
        )
        return f"<div{self._placed(style, depth)}></div>\n"

    def _picture(self, depth: int) -> str:
        style = [*self._sizes(), f"object-fit: {self._fit()}"]
        style += self._some(("border-radius: 12px", 0.2), ("object-position: 20% 80%", 0.2))
        source = f"https://media.test/{self._random.choice(_PICTURES)}"
        turns = self._placed(style, depth, is_raster=True)
        if self._is_timed and self._chance(0.4):
            return f'<ef-image src="{source}"{turns}{self._times()}></ef-image>\n'
        return f'<img src="{source}"{turns}>\n'

    def _drawing(self, depth: int) -> str:
        shape = f'<circle cx="20" cy="20" r="15" fill="{self._colour()}"/>'
        shape += f'<path d="M2 2 L38 30 L5 38 Z" stroke="{self._colour()}" fill="none"/>'
        place = self._placed(self._sizes(), depth)
        return f'<svg viewBox="0 0 40 40"{place}>{shape}</svg>\n'

    def _video(self, depth: int) -> str:
        style = [*self._sizes(), f"object-fit: {self._fit()}"]
        style += self._some(("border-radius: 14px", 0.2), ("object-position: 10% 70%", 0.2))
        source = f"https://media.test/{self._random.choice(_VIDEOS)}"
        name = self._random.choice(("ef-video", "ef-video", "video"))
        times = self._times() if name == "ef-video" else ""
        place = self._placed(style, depth, is_raster=True)
        return f'<{name} src="{source}"{place}{times} muted></{name}>\n'

    def _footage(self) -> str:
        """Return a video behind everything, as in most pages that are composed by default."""
        source = f"https://media.test/{self._random.choice(_VIDEOS)}"
        style = (
            f"position: absolute; inset: 0; width: 100%; height: 100%; object-fit: {self._fit()}"
        )
        name = "ef-video" if self._is_timed and self._chance(0.5) else "video"
        return f'<{name} src="{source}" style="{style}" muted autoplay></{name}>\n'

    def _captions(self, depth: int) -> str:
        place = self._placed([f"width: 200px; color: {self._colour()}"], depth)
        return (
            f'<ef-captions captions-src="https://media.test/subtitles.vtt"{place}></ef-captions>\n'
        )

    def _group(self, depth: int) -> str:
        style = self._some(
            ("; ".join(self._sizes()), 0.6),
            ("overflow: hidden", 0.4),
            ("border-radius: 15px", 0.25),
            (self._background(), 0.1 if self._is_upright else 0.4),
            (f"border: 2px solid {self._colour()}", 0.05 if self._is_upright else 0.3),
            (self._random.choice(("display: flex", "display: grid; gap: 4px")), 0.3),
        )
        return f"<div{self._placed(style, depth)}>\n{self._inside(depth)}</div>\n"

    def _timed(self, depth: int) -> str:
        place = self._placed(self._some(("position: absolute", 0.5)), depth)
        name = self._random.choice(("ef-timegroup", "ef-timegroup", "ef-text"))
        if name == "ef-text":
            return f"<ef-text{place}{self._times()}>{self._random.choice(_TEXTS)}</ef-text>\n"
        mode = self._random.choice(('mode="fixed"', 'mode="contain"', 'mode="sequence"'))
        return f"<{name} {mode}{place}{self._times()}>\n{self._inside(depth)}</{name}>\n"

    def _inside(self, depth: int) -> str:
        return "".join(self._piece(depth + 1) for _ in range(self._random.randint(1, 3)))

    def _placed(self, style: list[str], depth: int, *, is_raster: bool = False) -> str:
        """Return attributes: a style with a place, or in the flow, and motion."""
        if self._chance(0.7 if depth < 2 else 0.4):
            style = [*style, "position: absolute", "margin: 0", *self._corner()]
            style += self._some((f"z-index: {self._random.randint(-1, 3)}", 0.3))
        elif self._chance(0.3):
            style = [*style, "position: relative"]
        return self._named(style, is_raster=is_raster)

    def _named(self, style: list[str], *, is_raster: bool = False) -> str:
        style = [*style, *self._some((self._random.choice(_ODD), self._oddity))]
        if self._motions < 12 and self._chance(0.55):
            count = 1 if self._chance(0.75) else 2
            names = [self._motion(is_raster=is_raster) for _ in range(count)]
            style.append(f"animation: {', '.join(names)}")
        self._names += 1
        pseudo = 'content: "*"; color: red' if self._chance(self._oddity / 2) else ""
        if pseudo:
            self._rules.append(f"#e{self._names}::before {{ {pseudo} }}")
        self._rules.append(f"#e{self._names} {{ {'; '.join(style)} }}")
        return f' id="e{self._names}"'

    def _motion(self, *, is_raster: bool) -> str:
        self._motions += 1
        name, kind = f"m{self._motions}", self._kind(is_raster=is_raster)
        offsets = sorted({0, 100, *self._random.sample(range(1, 100), self._random.randint(0, 2))})
        if self._chance(0.3):
            offsets.pop(self._random.choice((0, -1)))
        frames = [
            f"{offset}% {{ {self._value(kind)}"
            + (f"; animation-timing-function: {self._random.choice(_EASINGS)}" * self._chance(0.2))
            + " }"
            for offset in offsets
        ]
        self._rules.append(f"@keyframes {name} {{ {' '.join(frames)} }}")
        duration, delay = self._random.uniform(0.15, 2.2), self._random.uniform(-0.6, 1)
        return " ".join(
            (
                name,
                f"{duration:.2f}s",
                self._random.choice(_EASINGS),
                f"{delay * self._chance(0.6):.2f}s",
                self._random.choice(("1", "1", "1", "2", "2.5", "infinite")),
                self._random.choice(("normal", "normal", "reverse", "alternate")),
                self._random.choice(("none", "both", "both", "forwards", "backwards")),
            )
        )

    def _kind(self, *, is_raster: bool) -> str:
        kinds = ["move", "move", "move", "fade", "fade", "hide", "clip", "colour"]
        if is_raster or not self._is_upright:
            kinds += ["turn", "turn", "grow"]
        if self._chance(self._oddity):
            kinds = ["size", "blur", "shadow", "mixed"]
        return self._random.choice(kinds)

    def _value(self, kind: str) -> str:
        number = self._random.uniform
        whole = self._chance(0.3)
        x, y = (round(number(-90, 90), 0 if whole else 2) for _ in range(2))
        inset = " ".join(f"{number(0, 45):.1f}%" for _ in range(self._random.randint(1, 4)))
        values = {
            "move": self._random.choice(
                (f"transform: translate({x}px, {y}px)", f"translate: {x}px {y / 2}%")
            ),
            "fade": f"opacity: {number(-0.1, 1.1):.2f}",
            "hide": f"visibility: {self._random.choice(('visible', 'hidden'))}",
            "clip": self._random.choice(
                (f"clip-path: inset({inset})", f"clip-path: inset({inset} round 8px)")
            ),
            "colour": self._random.choice(
                (f"color: {self._colour()}", f"background-color: {self._colour()}")
            ),
            "turn": f"transform: translate({x / 3}px, 4px) rotate({number(-60, 60):.1f}deg)",
            "grow": f"scale: {number(0.4, 1.9):.3f}",
            "size": f"width: {number(20, 120):.0f}px",
            "blur": f"filter: blur({number(0, 5):.1f}px)",
            "shadow": f"box-shadow: 0 0 {number(0, 15):.0f}px {self._colour()}",
            "mixed": f"transform: translateX({x}px); color: {self._colour()}; opacity: .8",
        }
        return values[kind]

    def _times(self) -> str:
        start = self._random.choice((0, 0, 200, 333, 500, 733))
        length = self._random.choice((400, 500, 767, 1000, 1600))
        return f' offset="{start}ms" duration="{length}ms"'

    def _sizes(self) -> list[str]:
        wide, high = self._random.randint(15, 180), self._random.randint(10, 120)
        fraction = self._random.choice(("", "", "", ".5", ".3"))
        return [f"width: {wide}{fraction}px", f"height: {high}px"]

    def _corner(self) -> list[str]:
        fraction = self._random.choice(("", "", "", ".5", ".25", ".7"))
        x, y = self._random.randint(-30, 230), self._random.randint(-20, 130)
        across, down = (
            "right" if self._chance(0.2) else "left",
            "bottom" if self._chance(0.2) else "top",
        )
        return [f"{across}: {x}{fraction}px", f"{down}: {y}{fraction}px"]

    def _background(self) -> str:
        if self._chance(0.6):
            return f"background: {self._colour()}"
        angle = self._random.randint(0, 180)
        return f"background: linear-gradient({angle}deg, {self._colour()}, {self._colour()})"

    def _fit(self) -> str:
        return self._random.choice(("cover", "contain", "fill", "none", "scale-down"))

    def _colour(self) -> str:
        red, green, blue = (self._random.randint(0, 255) for _ in range(3))
        alpha = self._random.choice(("", "", "", " / .6"))
        return f"rgb({red} {green} {blue}{alpha})"

    def _some(self, *chances: tuple[str, float]) -> list[str]:
        return [text for text, chance in chances if self._chance(chance)]

    def _chance(self, chance: float) -> bool:
        return self._random.random() < chance


def random_page(seed: int, *, has_footage: bool = False) -> str:
    """Return the page of a seed, with a video behind everything if asked for."""
    return _PageWriter(seed).page(has_footage=has_footage)
