"""The tools that are compared: how each is installed and asked for a film."""

import json
import os
import shutil
import subprocess
import sys
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final

from framekiln.capture.browser import find_chromium
from tests.bench.peers.cases import FPS, Case
from tests.bench.peers.films import CRF, PRESET, Film, write_page
from tests.bench.peers.process import ProgramFailed, Usage, run_measured

SOURCES: Final = Path(__file__).parent
INSTALL_TIMEOUT_S: Final = 900
RENDER_TIMEOUT_S: Final = 900
_STYLE: Final = "<style>html, body { margin: 0; overflow: hidden; }</style>"


@dataclass(frozen=True)
class Tool(ABC):
    """One tool with a folder of its own."""

    folder: Path
    media: Path

    name: ClassVar[str]

    def can_render(self, case: Case) -> bool:
        """Whether it has its own way to make a case."""
        return True

    @abstractmethod
    def install(self) -> str:
        """Make it ready and return its version; raise `ProgramFailed` if that is impossible."""

    @abstractmethod
    def render(self, film: Film, output: Path) -> Usage:
        """Render a film and return what it took."""

    def _npm_ci(self) -> str:
        """Install the pinned packages, without their scripts; return the version of the first."""
        source = SOURCES / self.folder.name
        self.folder.mkdir(parents=True, exist_ok=True)
        for path in source.iterdir():
            if path.is_file():
                shutil.copy(path, self.folder)
        lock = (source / "package-lock.json").read_bytes()
        installed = self.folder / "installed-lock.json"
        if not installed.exists() or installed.read_bytes() != lock:
            flags = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
            run_measured(["npm", "ci", *flags], cwd=self.folder, timeout_s=INSTALL_TIMEOUT_S)
            installed.write_bytes(lock)
        package = self.folder / "node_modules" / self.folder.name / "package.json"
        return str(json.loads(package.read_text())["version"])


class Framekiln(Tool):
    """This project, by its command line."""

    name = "Framekiln"
    method = "auto"

    def install(self) -> str:
        """It is installed; render one short film so that its files are in memory."""
        self.folder.mkdir(parents=True, exist_ok=True)
        command = [str(Path(sys.executable).with_name("framekiln")), "--version"]
        shown = subprocess.run(command, check=True, capture_output=True, text=True)
        return shown.stdout.split()[-1]

    def render(self, film: Film, output: Path) -> Usage:
        """Render the page's folder."""
        page = self.folder / f"{film.case.name}"
        write_page(page, framekiln_page(film), self.media)
        size = ["--width", str(film.width), "--height", str(film.height)]
        length = ["--fps", str(FPS), "--duration-ms", str(round(film.seconds * 1000))]
        program = Path(sys.executable).with_name("framekiln")
        return run_measured(
            [program, "render", page, "-o", output, *size, *length, "--json"],
            cwd=self.folder,
            timeout_s=RENDER_TIMEOUT_S,
            environment={"FRAMEKILN_PAGE_METHOD": self.method},
        )


class ComposedFramekiln(Framekiln):
    """This project, which composes pages whose motion is known instead of filming them."""

    name = "Framekiln, composed"
    method = "composed"

    def can_render(self, case: Case) -> bool:
        """Scripts that draw frames must be filmed."""
        return case.script is None


class Remotion(Tool):
    """Remotion by its own API; the page is one component that is seeked in each frame."""

    name = "Remotion"

    def install(self) -> str:
        """Install it and bundle the component once; bundling is not measured."""
        version = self._npm_ci()
        command = ["node", "bundle.mjs", str(self.media.resolve()), str(self._bundle)]
        run_measured(command, cwd=self.folder, timeout_s=INSTALL_TIMEOUT_S)
        return version

    def render(self, film: Film, output: Path) -> Usage:
        """Render one composition of the bundle."""
        case = film.case
        page: dict[str, int | str] = {"width": film.width, "height": film.height}
        page |= {"fps": FPS, "frames": film.frames}
        page |= {"html": case.html, "script": case.script or ""}
        page |= {"video": case.video or "", "audio": case.audio or ""}
        order = {
            "bundle": str(self._bundle),
            "page": page,
            "browser": find_chromium(),
            "gl": "swangle" if case.name == "webgl" else None,
            "preset": PRESET,
            "crf": CRF,
            "workers": _workers(),
            "output": str(output.resolve()),
        }
        (self.folder / "order.json").write_text(json.dumps(order))
        return run_measured(
            ["node", "render.mjs", "order.json"], cwd=self.folder, timeout_s=RENDER_TIMEOUT_S
        )

    @property
    def _bundle(self) -> Path:
        return (self.folder / "bundle").resolve()


class HyperFrames(Tool):
    """HyperFrames by its command line, which has no option for the preset of x264."""

    name = "HyperFrames"

    def install(self) -> str:
        """Install it, and put a program before ffmpeg that sets the preset."""
        version = self._npm_ci()
        program = shutil.which("ffmpeg")
        if program is None:
            raise ProgramFailed("ffmpeg is not installed")
        wrapper = self.folder / "ffmpeg"
        wrapper.write_text(ffmpeg_wrapper(program))
        wrapper.chmod(0o755)
        return version

    def render(self, film: Film, output: Path) -> Usage:
        """Render the page's folder."""
        page = self.folder / f"{film.case.name}"
        write_page(page, hyperframes_page(film), self.media)
        options = ["--fps", str(FPS), "--crf", str(CRF), "--workers", str(_workers())]
        options += ["--no-browser-gpu", "--sdr", "--frames-cache-dir", "off", "--quiet"]
        environment = {
            "HYPERFRAMES_FFMPEG_PATH": str((self.folder / "ffmpeg").resolve()),
            "HYPERFRAMES_BROWSER_PATH": find_chromium(),
            "PRODUCER_HEADLESS_SHELL_PATH": find_chromium(),
            # Its faster way of capture, where the browser has it.
            "PRODUCER_FORCE_SCREENSHOT": "false",
            "HYPERFRAMES_NO_TELEMETRY": "1",
            "HYPERFRAMES_NO_UPDATE_CHECK": "1",
            "HYPERFRAMES_NO_AUTO_INSTALL": "1",
            "DO_NOT_TRACK": "1",
        }
        program = self.folder / "node_modules/hyperframes/bin/hyperframes.mjs"
        return run_measured(
            [self._node, program.resolve(), "render", page, "-o", output.resolve(), *options],
            cwd=self.folder,
            timeout_s=RENDER_TIMEOUT_S,
            environment=environment,
        )

    @property
    def _node(self) -> str | Path:
        """It needs a newer Node.js than Debian has: one that npm installs with it."""
        found = self.folder.resolve().glob("node_modules/node-linux-*/bin/node")
        return next(found, "node")


TOOLS: Final = (Framekiln, ComposedFramekiln, Remotion, HyperFrames)


def framekiln_page(film: Film) -> str:
    """Return the page as a browser would show it."""
    case = film.case
    video = f'<video src="{case.video}" autoplay muted></video>' if case.video else ""
    audio = f'<audio src="{case.audio}" autoplay></audio>' if case.audio else ""
    loop = (
        f"<script>{case.script}\nrequestAnimationFrame(function step(ms) {{"
        " draw(ms / 1000); requestAnimationFrame(step); });</script>"
    )
    body = video + case.html + audio + (loop if case.script else "")
    return f'<!doctype html><meta charset="utf-8">{_STYLE}\n{body}\n'


def hyperframes_page(film: Film) -> str:
    """Return the page with the attributes that HyperFrames needs."""
    case, length = film.case, f'data-start="0" data-duration="{film.seconds:g}"'
    video = f'<video id="v" src="{case.video}" muted {length}></video>' if case.video else ""
    audio = f'<audio id="a" src="{case.audio}" {length}></audio>' if case.audio else ""
    seek = f"<script>{case.script}\naddEventListener('hf-seek', (e) => draw(e.detail.time));"
    script = f"{seek}\ndraw(0);</script>" if case.script else ""
    root = (
        # Without `data-no-timeline` it waits 45 s for an animation library.
        f'<div id="root" data-composition-id="root" data-no-timeline {length}'
        f' data-width="{film.width}" data-height="{film.height}"'
        f' style="width: {film.width}px; height: {film.height}px">'
    )
    head = f'<head><meta charset="utf-8">{_STYLE}</head>'
    body = f"<body>{root}{video}{case.html}{audio}</div>{script}</body>"
    return f"<!doctype html><html>{head}{body}</html>\n"


def ffmpeg_wrapper(program: str) -> str:
    """Return a script that runs ffmpeg with the preset that all tools use."""
    return (
        "#!/usr/bin/env bash\n"
        "arguments=()\n"
        'for argument in "$@"; do\n'
        f'    [ "$before" = "-preset" ] && argument={PRESET}\n'
        '    arguments+=("$argument")\n'
        "    before=$argument\n"
        "done\n"
        f'exec {program} "${{arguments[@]}}"\n'
    )


def _workers() -> int:
    return len(os.sched_getaffinity(0))
