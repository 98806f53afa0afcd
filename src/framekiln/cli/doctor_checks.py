"""The single checks of `framekiln doctor`. Each looks, changes nothing, and names its remedy."""

import asyncio
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import numpy as np

from framekiln.capture.process_memory import Block
from framekiln.capture.sandbox import Confinement, strongest_confinement
from framekiln.cli.connection import embedded
from framekiln.cli.port import is_service_at, require_free_port
from framekiln.db.embedded import OLDEST_MAJOR, installed_servers
from framekiln.db.migrate import pending
from framekiln.kit.confined.run import confinement
from framekiln.kit.errors import FramekilnError
from framekiln.kit.folder_lock import FolderInUse, locked
from framekiln.settings import Settings
from framekiln.speech.choosing import Choice, PassedOver, candidates, locate_voice
from framekiln.speech.configuration import SpeechSettings
from framekiln.speech.languages import check_language

_INSTALL = "apt-get install -y --no-install-recommends"
_LITTLE_SPACE_BYTES = 2 << 30
_FETCH_SPEECH = "python scripts/fetch_speech_models.py"


class State(StrEnum):
    """How a check ended."""

    OK = "ok"
    WARN = "warn"
    MISSING = "missing"


@dataclass(frozen=True)
class Finding:
    """What one check saw."""

    name: str
    state: State
    detail: str
    fix: str | None = None


@dataclass(frozen=True)
class Tool:
    """A program that we start."""

    programs: tuple[str, ...]
    package: str
    version_flag: str
    if_absent: State


_TOOLS = (
    Tool(
        ("chromium-headless-shell", "chrome-headless-shell"),
        "chromium-headless-shell",
        "--version",
        State.MISSING,
    ),
    Tool(("ffmpeg",), "ffmpeg", "-version", State.WARN),
    Tool(("bwrap",), "bubblewrap", "--version", State.WARN),
    Tool(("setpriv",), "util-linux", "--version", State.MISSING),
)
_SCRIPTS = (
    ("emoji", ":charset=1F600", "fonts-noto-color-emoji"),
    ("Chinese, Japanese, Korean", ":lang=zh-cn", "fonts-noto-cjk"),
    ("Arabic", ":lang=ar", "fonts-noto-core"),
)


def machine_findings() -> Iterator[Finding]:
    """Check what is installed and what the kernel allows."""
    for tool in _TOOLS:
        yield check_tool(tool)
    yield check_postgres()
    for name, pattern, package in _SCRIPTS:
        yield check_font(name, pattern, package)
    yield check_confinement()
    yield check_media_confinement()
    yield check_user_namespaces()
    yield check_memory_reading()


async def place_findings(settings: Settings) -> list[Finding]:
    """Check what the settings name: data folder, port, database, speech engine."""
    is_serving = await asyncio.to_thread(_is_serving, settings)
    is_answering = await asyncio.to_thread(is_service_at, settings.host, settings.port)
    return [
        check_data_folder(settings.data),
        check_port(settings, is_serving=is_serving, is_answering=is_answering),
        await check_database(settings, is_serving=is_serving, is_answering=is_answering),
        await asyncio.to_thread(check_speech, SpeechSettings.of(settings)),
        await asyncio.to_thread(check_voice, SpeechSettings.of(settings)),
    ]


def check_tool(tool: Tool) -> Finding:
    """Look for a program and ask its version."""
    path = next(filter(None, map(shutil.which, tool.programs)), None)
    name = tool.programs[0]
    if path is None:
        return Finding(name, tool.if_absent, "not installed", f"{_INSTALL} {tool.package}")
    said = _run(path, tool.version_flag)
    return Finding(name, State.OK, said.splitlines()[0] if said else path)


def check_postgres() -> Finding:
    """Look for a Postgres of a usable version."""
    majors = sorted(installed_servers())
    if majors:
        return Finding("postgresql", State.OK, ", ".join(map(str, majors)))
    fix = f"{_INSTALL} postgresql (or set DATABASE_URL)"
    return Finding("postgresql", State.MISSING, f"no version >= {OLDEST_MAJOR}", fix)


def check_font(name: str, pattern: str, package: str) -> Finding:
    """Look for a font that has the letters of a script."""
    fix = f"{_INSTALL} {package}"
    if shutil.which("fc-list") is None:
        return Finding(f"font: {name}", State.WARN, "fc-list is missing", f"{_INSTALL} fontconfig")
    # DejaVu has a few Arabic letters, but not their forms: that is no Arabic font.
    families = {line for line in _run("fc-list", pattern, "family").splitlines() if line}
    wanted = sorted(family for family in families if not family.startswith("DejaVu"))
    if not wanted:
        return Finding(f"font: {name}", State.WARN, "none; boxes would be drawn", fix)
    return Finding(f"font: {name}", State.OK, wanted[0])


def check_confinement() -> Finding:
    """Try how far Chromium can be locked in."""
    strongest = strongest_confinement()
    if strongest is Confinement.UNPRIVILEGED_USER:
        return Finding(
            "sandbox",
            State.WARN,
            "bubblewrap cannot make namespaces; pages run as an unprivileged user only",
            "in a container: --security-opt seccomp=unconfined --cap-add SYS_ADMIN",
        )
    return Finding("sandbox", State.OK, str(strongest))


def check_media_confinement() -> Finding:
    """Try how far the readers of uploaded media can be locked in."""
    held = confinement()
    if held.startswith("bubblewrap"):
        return Finding("media sandbox", State.OK, held)
    advice = "in a container: --security-opt seccomp=unconfined --cap-add SYS_ADMIN"
    return Finding("media sandbox", State.WARN, held, advice)


def check_user_namespaces() -> Finding:
    """Try to make a user namespace without being root."""
    name = "unprivileged user namespaces"
    unshare = ["unshare", "--user", "--map-root-user", "true"]
    if os.geteuid() == 0:
        unshare = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *unshare]
    if _succeeds(*unshare):
        return Finding(name, State.OK, "allowed")
    switches = {
        "kernel/unprivileged_userns_clone": ("0", "kernel.unprivileged_userns_clone=1"),
        "kernel/apparmor_restrict_unprivileged_userns": (
            "1",
            "kernel.apparmor_restrict_unprivileged_userns=0",
        ),
        "user/max_user_namespaces": ("0", "user.max_user_namespaces=10000"),
    }
    for path, (bad, remedy) in switches.items():
        if _read(Path("/proc/sys") / path) == bad:
            return Finding(name, State.WARN, "switched off", f"sysctl -w {remedy}")
    fix = "in a container: --security-opt seccomp=unconfined"
    return Finding(name, State.WARN, "refused by the kernel", fix)


def check_memory_reading() -> Finding:
    """Try to read the memory of a child, as the fast frame grabber does."""
    name = "process_vm_readv"
    if _can_read_child():
        return Finding(name, State.OK, "permitted")
    scope = _read(Path("/proc/sys/kernel/yama/ptrace_scope"))
    fix = "sysctl -w kernel.yama.ptrace_scope=1"
    if scope in (None, "0", "1"):
        fix = "in a container: --cap-add SYS_PTRACE"
    return Finding(name, State.WARN, "refused; frames are grabbed as slower screenshots", fix)


def check_data_folder(folder: Path) -> Finding:
    """Look whether data can be written, and how much."""
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    if not os.access(existing, os.W_OK | os.X_OK):
        fix = "set FRAMEKILN_DATA to a folder of yours"
        return Finding("data folder", State.MISSING, f"{folder} cannot be written", fix)
    free_bytes = shutil.disk_usage(existing).free
    detail = f"{folder}, {free_bytes / (1 << 30):.1f} GiB free"
    if free_bytes < _LITTLE_SPACE_BYTES:
        return Finding("data folder", State.WARN, detail, "free some space, or set FRAMEKILN_DATA")
    return Finding("data folder", State.OK, detail)


def check_port(settings: Settings, *, is_serving: bool, is_answering: bool) -> Finding:
    """Look whether we could listen, or do already."""
    address = f"{settings.host}:{settings.port}"
    if is_answering:
        whose = "this service" if is_serving else "a Framekiln service with another data folder"
        return Finding("port", State.OK, f"{address} is in use by {whose}")
    try:
        require_free_port(settings.host, settings.port)
    except FramekilnError as error:
        fix = f"FRAMEKILN_PORT={settings.port + 1} framekiln serve"
        return Finding("port", State.MISSING, error.message, fix)
    return Finding("port", State.OK, f"{address} is free")


async def check_database(settings: Settings, *, is_serving: bool, is_answering: bool) -> Finding:
    """Ask the database, when there should be one."""
    if settings.database_url is None and not is_serving:
        return _idle_database(settings, is_answering=is_answering)
    conninfo = settings.database_url or embedded(settings).conninfo
    try:
        missing = await asyncio.to_thread(pending, conninfo)
    except FramekilnError as error:
        fix = "check DATABASE_URL" if settings.database_url else "stop and start framekiln serve"
        return Finding("database", State.MISSING, error.message, fix)
    if missing:
        return Finding(
            "database", State.WARN, f"{len(missing)} migrations to apply", "framekiln migrate"
        )
    return Finding("database", State.OK, "answers, up to date")


def _idle_database(settings: Settings, *, is_answering: bool) -> Finding:
    if is_answering:
        detail = f"the running service does not use {settings.data}"
        fix = "set FRAMEKILN_DATA to its data folder, or DATABASE_URL to its database"
        return Finding("database", State.WARN, detail, fix)
    try:
        exists = embedded(settings).exists()
    except FramekilnError as error:
        return Finding("database", State.MISSING, error.message, "set FRAMEKILN_DATA")
    does = "starts" if exists else "makes"
    return Finding("database", State.OK, f"embedded; framekiln serve {does} it")


def check_speech(settings: SpeechSettings) -> Finding:
    """Look which speech engine will be used, and why no better one."""
    name = "speech engine"
    passed: list[PassedOver] = []
    try:
        if settings.language:
            check_language(settings.language, settings.languages)
        for found in candidates(settings):
            if isinstance(found, Choice):
                return _speech_found(found, passed, fix=_fix(passed, settings))
            passed.append(found)
    except FramekilnError as error:
        return Finding(name, State.WARN, error.message, "see FRAMEKILN_SPEECH_* in the README")
    reasons = "; ".join(f"{each.name}: {each.error.message}" for each in passed)
    detail = f"none, so nothing can be transcribed: {reasons}"
    return Finding(name, State.WARN, detail, _fix(passed, settings))


def _speech_found(found: Choice, passed: list[PassedOver], *, fix: str) -> Finding:
    if not passed:
        return Finding("speech engine", State.OK, found.name)
    reasons = ", ".join(each.reason for each in passed)
    detail = f"{found.name}, English only and less good: {reasons}"
    return Finding("speech engine", State.WARN, detail, fix)


def check_voice(settings: SpeechSettings) -> Finding:
    """Look for the voice detector, which tells speech from noise."""
    found = locate_voice(settings)
    if isinstance(found, PassedOver):
        detail = f"{found.reason}; what is loud is taken for speech"
        return Finding("voice detector", State.WARN, detail, _fix([found], settings))
    return Finding("voice detector", State.OK, str(found))


def _fix(passed: list[PassedOver], settings: SpeechSettings) -> str:
    if all(each.name == "pocketsphinx" for each in passed):
        return "pip install pocketsphinx"
    # A folder that is set is the only one that is looked into.
    return _FETCH_SPEECH + (f" --into {settings.folders[0]}" if len(settings.folders) == 1 else "")


def _is_serving(settings: Settings) -> bool:
    if not settings.data.is_dir():
        return False
    try:
        with locked(settings.data):
            return False
    except FolderInUse:
        return True
    except FramekilnError:
        return False


def _can_read_child() -> bool:
    child = subprocess.Popen(["sleep", "5"], stdin=subprocess.DEVNULL)
    try:
        start = int(re.split("-", Path(f"/proc/{child.pid}/maps").read_text(), maxsplit=1)[0], 16)
        return Block(child.pid, start).read_into(np.empty(16, np.uint8))
    except (OSError, ValueError):
        return False
    finally:
        child.kill()
        child.wait()


def _run(*argv: str) -> str:
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip()


def _succeeds(*argv: str) -> bool:
    try:
        done = subprocess.run(argv, capture_output=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def _read(path: Path) -> str | None:
    try:
        return path.read_text().strip()
    except OSError:
        return None
