"""The checks of `framekiln doctor`. Each is read-only, and suggests a fix."""

import asyncio
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from framekiln.capture.browser import Browser, open_browser
from framekiln.capture.browser_limits import BrowserLimits
from framekiln.capture.confinement_facts import confinement_facts
from framekiln.capture.framebuffer import FramebufferNotFound, locate
from framekiln.capture.page import FrameSize, Page, open_page
from framekiln.cli.database import embedded_postgres
from framekiln.cli.port import is_service_at, require_free_port
from framekiln.db.embedded import OLDEST_MAJOR, installed_servers
from framekiln.db.migrate import pending
from framekiln.kit.confined.run import describe_confinement
from framekiln.kit.errors import FramekilnError
from framekiln.kit.folder_lock import is_locked
from framekiln.settings import Settings
from framekiln.speech.configuration import SpeechSettings
from framekiln.speech.languages import check_language
from framekiln.speech.loader import (
    LocatedEngine,
    SkippedEngine,
    candidate_engines,
    locate_voice_model,
)

_INSTALL = "apt-get install -y --no-install-recommends"
_LITTLE_SPACE_BYTES = 2 << 30
_FETCH_SPEECH = "python scripts/fetch_speech_models.py"


class CheckState(StrEnum):
    """The outcome of a check."""

    OK = "ok"
    WARN = "warn"
    MISSING = "missing"


@dataclass(frozen=True)
class CheckResult:
    """The result of one check."""

    name: str
    state: CheckState
    detail: str
    fix: str | None = None


@dataclass(frozen=True)
class RequiredProgram:
    """A program that the service needs."""

    programs: tuple[str, ...]
    package: str
    version_flag: str
    if_absent: CheckState


_TOOLS = (
    RequiredProgram(
        ("chromium-headless-shell", "chrome-headless-shell"),
        "chromium-headless-shell",
        "--version",
        CheckState.MISSING,
    ),
    RequiredProgram(("ffmpeg",), "ffmpeg", "-version", CheckState.WARN),
    RequiredProgram(("bwrap",), "bubblewrap", "--version", CheckState.WARN),
    RequiredProgram(("setpriv",), "util-linux", "--version", CheckState.MISSING),
)
_SCRIPTS = (
    ("emoji", ":charset=1F600", "fonts-noto-color-emoji"),
    ("Chinese, Japanese, Korean", ":lang=zh-cn", "fonts-noto-cjk"),
    ("Arabic", ":lang=ar", "fonts-noto-core"),
)


def check_machine(settings: Settings) -> Iterator[CheckResult]:
    """Check installed programs and kernel features."""
    for tool in _TOOLS:
        yield check_tool(tool)
    yield check_postgres()
    for name, pattern, package in _SCRIPTS:
        yield check_font(name, pattern, package)
    yield from check_chromium(BrowserLimits.of(settings))
    yield check_media_confinement()
    yield check_user_namespaces()


async def check_settings(settings: Settings) -> list[CheckResult]:
    """Check the settings: data folder, port, database, speech engine."""
    is_serving = await asyncio.to_thread(is_locked, settings.data)
    is_answering = await asyncio.to_thread(is_service_at, settings.host, settings.port)
    return [
        check_data_folder(settings.data),
        check_port(settings, is_serving=is_serving, is_answering=is_answering),
        await check_database(settings, is_serving=is_serving, is_answering=is_answering),
        await asyncio.to_thread(check_speech, SpeechSettings.of(settings)),
        await asyncio.to_thread(check_voice, SpeechSettings.of(settings)),
    ]


def check_tool(tool: RequiredProgram) -> CheckResult:
    """Check for a program and its version."""
    path = next(filter(None, map(shutil.which, tool.programs)), None)
    name = tool.programs[0]
    if path is None:
        return CheckResult(name, tool.if_absent, "not installed", f"{_INSTALL} {tool.package}")
    version = _run(path, tool.version_flag)
    return CheckResult(name, CheckState.OK, version.splitlines()[0] if version else path)


def check_postgres() -> CheckResult:
    """Check for a supported version of PostgreSQL."""
    majors = sorted(installed_servers())
    if majors:
        return CheckResult("postgresql", CheckState.OK, ", ".join(map(str, majors)))
    fix = f"{_INSTALL} postgresql (or set DATABASE_URL)"
    return CheckResult("postgresql", CheckState.MISSING, f"no version >= {OLDEST_MAJOR}", fix)


def check_font(name: str, pattern: str, package: str) -> CheckResult:
    """Check for a font with the letters of a script."""
    fix = f"{_INSTALL} {package}"
    if shutil.which("fc-list") is None:
        return CheckResult(
            f"font: {name}", CheckState.WARN, "fc-list is missing", f"{_INSTALL} fontconfig"
        )
    # DejaVu has a few Arabic letters, but not their forms: it is not an Arabic font.
    families = {line for line in _run("fc-list", pattern, "family").splitlines() if line}
    wanted = sorted(family for family in families if not family.startswith("DejaVu"))
    if not wanted:
        return CheckResult(
            f"font: {name}", CheckState.WARN, "none; its characters are drawn as boxes", fix
        )
    return CheckResult(f"font: {name}", CheckState.OK, wanted[0])


def check_chromium(limits: BrowserLimits) -> Iterator[CheckResult]:
    """Start Chromium and check how it is confined and how its frames are read."""
    try:
        with (
            open_browser(limits=limits) as browser,
            open_page(browser, FrameSize(320, 180)) as page,
        ):
            yield check_confinement(browser)
            yield check_memory_reading(page)
    except FramekilnError as error:
        yield CheckResult("sandbox", CheckState.MISSING, error.message, f"{_INSTALL} bubblewrap")


def check_confinement(browser: Browser) -> CheckResult:
    """Check how the processes of a running Chromium are confined."""
    facts, limits = confinement_facts(browser), browser.limits
    detail = (
        f"{browser.confinement}: {facts}; at most {limits.memory_mib} MiB of memory,"
        f" {limits.processes} processes, {limits.threads} threads, {limits.disk_mib} MiB of disk"
    )
    if facts.is_enough:
        return CheckResult("sandbox", CheckState.OK, detail)
    fix = "in a container: --security-opt seccomp=unconfined --cap-add SYS_ADMIN"
    if facts.namespaces is None:
        fix = "in a container: --cap-add SYS_PTRACE"
    return CheckResult("sandbox", CheckState.WARN, detail, fix)


def check_media_confinement() -> CheckResult:
    """Check which sandbox is available for the readers of uploaded media."""
    held = describe_confinement()
    if held.startswith("bubblewrap"):
        return CheckResult("media sandbox", CheckState.OK, held)
    advice = "in a container: --security-opt seccomp=unconfined --cap-add SYS_ADMIN"
    return CheckResult("media sandbox", CheckState.WARN, held, advice)


def check_user_namespaces() -> CheckResult:
    """Check whether user namespaces can be created without root."""
    name = "unprivileged user namespaces"
    unshare = ["unshare", "--user", "--map-root-user", "true"]
    if os.geteuid() == 0:
        unshare = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *unshare]
    if _succeeds(*unshare):
        return CheckResult(name, CheckState.OK, "allowed")
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
            return CheckResult(name, CheckState.WARN, "disabled", f"sysctl -w {remedy}")
    fix = "in a container: --security-opt seccomp=unconfined"
    return CheckResult(name, CheckState.WARN, "refused by the kernel", fix)


def check_memory_reading(page: Page) -> CheckResult:
    """Check whether frames can be read from Chromium's memory."""
    name = "process_vm_readv"
    try:
        locate(page)
    except FramebufferNotFound as error:
        scope = _read(Path("/proc/sys/kernel/yama/ptrace_scope"))
        fix = "sysctl -w kernel.yama.ptrace_scope=1"
        if scope in (None, "0", "1"):
            fix = "in a container: --cap-add SYS_PTRACE"
        detail = f"frames are captured with slower screenshots: {error}"
        return CheckResult(name, CheckState.WARN, detail, fix)
    return CheckResult(name, CheckState.OK, "frames are read from Chromium's memory")


def check_data_folder(folder: Path) -> CheckResult:
    """Check whether the data folder is writable, and its free space."""
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    if not os.access(existing, os.W_OK | os.X_OK):
        fix = "set FRAMEKILN_DATA to a folder of yours"
        return CheckResult("data folder", CheckState.MISSING, f"{folder} is not writable", fix)
    free_bytes = shutil.disk_usage(existing).free
    detail = f"{folder}, {free_bytes / (1 << 30):.1f} GiB free"
    if free_bytes < _LITTLE_SPACE_BYTES:
        return CheckResult(
            "data folder", CheckState.WARN, detail, "free some space, or set FRAMEKILN_DATA"
        )
    return CheckResult("data folder", CheckState.OK, detail)


def check_port(settings: Settings, *, is_serving: bool, is_answering: bool) -> CheckResult:
    """Check whether the port is free, or used by our service."""
    address = f"{settings.host}:{settings.port}"
    if is_answering:
        whose = "this service" if is_serving else "a Framekiln service with another data folder"
        return CheckResult("port", CheckState.OK, f"{address} is in use by {whose}")
    try:
        require_free_port(settings.host, settings.port)
    except FramekilnError as error:
        fix = f"FRAMEKILN_PORT={settings.port + 1} framekiln serve"
        return CheckResult("port", CheckState.MISSING, error.message, fix)
    return CheckResult("port", CheckState.OK, f"{address} is free")


async def check_database(
    settings: Settings, *, is_serving: bool, is_answering: bool
) -> CheckResult:
    """Check the connection to the database, if there should be one."""
    if settings.database_url is None and not is_serving:
        return _idle_database(settings, is_answering=is_answering)
    conninfo = settings.database_url or embedded_postgres(settings).conninfo
    try:
        missing = await asyncio.to_thread(pending, conninfo)
    except FramekilnError as error:
        fix = "check DATABASE_URL" if settings.database_url else "stop and start framekiln serve"
        return CheckResult("database", CheckState.MISSING, error.message, fix)
    if missing:
        return CheckResult(
            "database", CheckState.WARN, f"{len(missing)} migrations to apply", "framekiln migrate"
        )
    return CheckResult("database", CheckState.OK, "reachable, up to date")


def _idle_database(settings: Settings, *, is_answering: bool) -> CheckResult:
    if is_answering:
        detail = f"the running service does not use {settings.data}"
        fix = "set FRAMEKILN_DATA to its data folder, or DATABASE_URL to its database"
        return CheckResult("database", CheckState.WARN, detail, fix)
    try:
        exists = embedded_postgres(settings).exists()
    except FramekilnError as error:
        return CheckResult("database", CheckState.MISSING, error.message, "set FRAMEKILN_DATA")
    does = "starts" if exists else "makes"
    return CheckResult("database", CheckState.OK, f"embedded; framekiln serve {does} it")


def check_speech(settings: SpeechSettings) -> CheckResult:
    """Check which speech engine will be used, and why not a better one."""
    name = "speech engine"
    passed: list[SkippedEngine] = []
    try:
        if settings.language:
            check_language(settings.language, settings.languages)
        for found in candidate_engines(settings):
            if isinstance(found, LocatedEngine):
                return _speech_found(found, passed, fix=_fix(passed, settings))
            passed.append(found)
    except FramekilnError as error:
        return CheckResult(
            name, CheckState.WARN, error.message, "see FRAMEKILN_SPEECH_* in the README"
        )
    reasons = "; ".join(f"{each.name}: {each.error.message}" for each in passed)
    detail = f"none, so nothing can be transcribed: {reasons}"
    return CheckResult(name, CheckState.WARN, detail, _fix(passed, settings))


def _speech_found(found: LocatedEngine, passed: list[SkippedEngine], *, fix: str) -> CheckResult:
    if not passed:
        return CheckResult("speech engine", CheckState.OK, found.name)
    reasons = ", ".join(each.reason for each in passed)
    detail = f"{found.name}, English only and less good: {reasons}"
    return CheckResult("speech engine", CheckState.WARN, detail, fix)


def check_voice(settings: SpeechSettings) -> CheckResult:
    """Check for the voice detector, which separates speech from noise."""
    found = locate_voice_model(settings)
    if isinstance(found, SkippedEngine):
        detail = f"{found.reason}; every loud sound counts as speech"
        return CheckResult("voice detector", CheckState.WARN, detail, _fix([found], settings))
    return CheckResult("voice detector", CheckState.OK, str(found))


def _fix(passed: list[SkippedEngine], settings: SpeechSettings) -> str:
    if all(each.name == "pocketsphinx" for each in passed):
        return "pip install pocketsphinx"
    # If a folder is set, only that one is searched.
    return _FETCH_SPEECH + (f" --into {settings.folders[0]}" if len(settings.folders) == 1 else "")


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
