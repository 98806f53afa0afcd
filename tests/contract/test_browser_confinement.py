"""What Chromium's processes may do and use, read from the kernel. Real browsers only."""

import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

import pytest

from framekiln.capture.browser import Browser, open_browser
from framekiln.capture.browser_limits import BrowserLimits
from framekiln.capture.confinement_facts import our_variables
from framekiln.capture.errors import PageOverLimit
from framekiln.capture.network import PageNetwork, Resource, no_resources
from framekiln.capture.page import FrameSize, Page, open_page
from framekiln.capture.process_tree import descendants, processes_of_type
from framekiln.capture.sandbox import Confinement, strongest_confinement
from framekiln.cli.doctor_checks import CheckState, check_confinement
from framekiln.kit.account import STRANGER_ID
from framekiln.settings import Settings
from tests.support.browser_tab import BrowserTab, open_tab
from tests.support.browsers import SharedBrowser
from tests.support.raw_pixels import require_raw_pixels
from tests.support.realtime import realtime_if_allowed
from tests.support.timeouts import TIMEOUT_S

SECRET = "tell-nobody-6f1d"
SIZE = FrameSize(320, 180)


def available(confinement: Confinement) -> None:
    kinds = list(Confinement)
    if kinds.index(confinement) < kinds.index(strongest_confinement()):
        pytest.skip(f"this machine does not allow the sandbox {confinement.name}")


@pytest.fixture(scope="module", params=list(Confinement))
def browser(request: pytest.FixtureRequest) -> Iterator[Browser]:
    """A browser with one page, started by a process with secrets in its environment."""
    available(request.param)
    with pytest.MonkeyPatch.context() as patch:
        for name in ("FRAMEKILN_API_KEY", "DATABASE_URL", "AWS_SECRET_ACCESS_KEY", "ANYTHING"):
            patch.setenv(name, SECRET)
        with open_browser(confinement=request.param) as browser, open_page(browser, SIZE):
            yield browser


@contextmanager
def loaded(browser: Browser, html: str) -> Iterator[Page]:
    document = Resource(f"<!doctype html>{html}".encode(), "text/html; charset=utf-8")
    with open_page(browser, SIZE) as page:
        page.load(PageNetwork(document, no_resources), settle_within_s=TIMEOUT_S)
        page.begin(Fraction(10), frame_within_s=TIMEOUT_S)
        yield page


def test_no_process_has_our_environment(browser: Browser) -> None:
    read = 0
    for pid in descendants(browser.pid):
        environment = Path(f"/proc/{pid}/environ").read_bytes()
        assert SECRET.encode() not in environment
        assert b"FRAMEKILN_" not in environment
        read += len(environment) > 0
    assert read > 2


def test_no_process_is_root(browser: Browser) -> None:
    uids = {status.uid for status in browser.processes.statuses() if status.is_chromium}
    assert uids == {os.geteuid() or STRANGER_ID}


def test_every_process_has_a_filter_in_bubblewrap(browser: Browser) -> None:
    processes = [status for status in browser.processes.statuses() if status.is_chromium]
    assert len(processes) > 4
    in_bubblewrap = browser.confinement is not Confinement.UNPRIVILEGED_USER
    assert {status.has_filter for status in processes} == {in_bubblewrap}


@pytest.mark.parametrize("browser", [Confinement.NAMESPACES_AND_SECCOMP], indirect=True)
def test_renderers_have_chromium_s_own_filter_too(browser: Browser) -> None:
    renderers = list(processes_of_type(browser.pid, "renderer"))
    assert renderers
    for pid in renderers:
        status = Path(f"/proc/{pid}/status").read_text()
        fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
        assert fields["Seccomp"] == "2"
        # Kernels before 5.10 do not count them.
        assert int(fields.get("Seccomp_filters", "2")) >= 2
        namespace = Path(f"/proc/{pid}/ns/user").readlink()
        (main,) = (p for p in descendants(browser.pid) if is_main(p))
        assert namespace != Path(f"/proc/{main}/ns/user").readlink()


def is_main(pid: int) -> bool:
    command = Path(f"/proc/{pid}/cmdline").read_bytes()
    return b"--remote-debugging-pipe" in command and command.startswith(b"/usr/lib")


def test_the_kernel_limits_every_process(browser: Browser) -> None:
    for status in browser.processes.statuses():
        if not status.is_chromium:
            continue
        lines = (status.folder / "limits").read_text().splitlines()[1:]
        soft = {line[:26].strip(): line[26:47].strip() for line in lines}
        assert soft["Max core file size"] == "0"
        assert soft["Max file size"] == str(browser.limits.tmpfs_bytes)
        assert soft["Max realtime priority"] == soft["Max nice priority"] == "0"
        assert soft["Max data size"] == str(max(2 * browser.limits.memory_bytes, 16 << 30))


SOUND_AND_CANVAS = """(async () => {
    const sound = new AudioContext()
    const tone = new OscillatorNode(sound), heard = new AnalyserNode(sound)
    tone.connect(heard).connect(sound.destination)
    tone.start()
    const samples = new Float32Array(heard.fftSize)
    while (!samples.some((sample) => Math.abs(sample) > 0.5)) {
        await new Promise((done) => setTimeout(done, 10))
        heard.getFloatTimeDomainData(samples)
    }
    const canvas = new OffscreenCanvas(4, 4).getContext("2d")
    canvas.fillStyle = "#123456"
    canvas.fillRect(0, 0, 4, 4)
    return [...canvas.getImageData(1, 1, 1, 1).data]
})()"""


@pytest.mark.parametrize("confinement", list(Confinement))
def test_no_thread_of_chromium_has_a_raised_priority(confinement: Confinement) -> None:
    """Chromium asks for realtime threads when it plays sound; it must go on without them."""
    available(confinement)
    with realtime_if_allowed(), open_browser(confinement=confinement) as browser:
        tab = BrowserTab(browser.connection, browser.pid)
        assert tab.run(SOUND_AND_CANVAS) == [0x12, 0x34, 0x56, 255]
        assert_ordinary_threads(tab)


def test_the_browser_of_tests_has_no_realtime_threads() -> None:
    with realtime_if_allowed(), open_tab() as tab:
        assert tab.run(SOUND_AND_CANVAS) == [0x12, 0x34, 0x56, 255]
        assert_ordinary_threads(tab)


def assert_ordinary_threads(tab: BrowserTab) -> None:
    ours = os.getpriority(os.PRIO_PROCESS, 0)
    names = set()
    for pid in descendants(tab.pid):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            name, _, fields = (thread / "stat").read_text().rpartition(") ")
            niceness, policy = int(fields.split()[16]), int(fields.split()[38])
            assert policy in (os.SCHED_OTHER, os.SCHED_BATCH, os.SCHED_IDLE), name
            assert niceness >= ours, name
            names.add(name.partition("(")[2])
    assert any("Audio" in name for name in names), names


def test_nothing_but_limited_folders_can_be_written(browser: Browser) -> None:
    if browser.confinement is Confinement.UNPRIVILEGED_USER:
        pytest.skip("this sandbox has the file system of the machine")
    (status, *_) = (each for each in browser.processes.statuses() if each.is_chromium)
    mounts = [line.split() for line in (status.folder / "mounts").read_text().splitlines()]
    writable = {m[1]: m[3] for m in mounts if m[2] == "tmpfs" and "rw" in m[3].split(",")}
    assert set(writable) == {"/tmp", "/dev/shm", "/run"}
    assert all("size=" in options for options in writable.values())


def test_doctor_reports_what_the_kernel_enforces(browser: Browser) -> None:
    """Compare its words with a reading of its own, from outside the namespaces."""
    pids = [pid for pid in descendants(browser.pid) if runs_chromium(pid)]
    fields = [
        dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)
        for text in (Path(f"/proc/{pid}/status").read_text() for pid in pids)
    ]
    (user,) = {each["Uid"].split()[0] for each in fields}
    filtered = sum(each["Seccomp"] == "2" for each in fields)
    result = check_confinement(browser)
    assert f"{browser.confinement}: user {user}; " in result.detail
    assert f"; {filtered} of {len(pids)} processes with a filter of system calls; " in result.detail
    assert "variables of ours: none" in result.detail
    assert f"{browser.limits.memory_mib} MiB of memory, 64 processes, 1024 thr" in result.detail
    own = {"net": "network", "mnt": "files", "pid": "processes", "user": "users"}
    for kind, name in own.items():
        ours = Path(f"/proc/self/ns/{kind}").readlink()
        is_own = all(Path(f"/proc/{pid}/ns/{kind}").readlink() != ours for pid in pids)
        described = result.detail.split("; ")[2].removeprefix("of its own: ").split(", ")
        assert (name in described) == is_own
    is_enough = browser.confinement is not Confinement.UNPRIVILEGED_USER
    assert result.state is (CheckState.OK if is_enough else CheckState.WARN)
    assert is_enough == browser.confinement.is_enough


def runs_chromium(pid: int) -> bool:
    return Path(f"/proc/{pid}/exe").readlink().name.endswith("headless-shell")


def test_doctor_reports_leaked_environment_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FRAMEKILN_API_KEY", SECRET)
    with subprocess.Popen(["/bin/sleep", "600"]) as leaky:
        process = Path(f"/proc/{leaky.pid}")
        # The kernel shows it a moment after the program was started.
        while not (process / "environ").read_bytes():
            time.sleep(0.01)
        found = our_variables([process])
        leaky.kill()
    assert found is not None
    assert "FRAMEKILN_API_KEY" in found


# Number on x86_64, number on aarch64, arguments that do no harm.
RISKY = {
    "ptrace": (101, 117, (0xFFFF, 0)),
    "process_vm_readv": (310, 270, (0, 0, 0, 0, 0, 0)),
    "process_vm_writev": (311, 271, (0, 0, 0, 0, 0, 0)),
    "bpf": (321, 280, (0xFFFF, 0, 0)),
    "perf_event_open": (298, 241, (0, 0, -1, -1, 0)),
    "keyctl": (250, 219, (0xFFFF,)),
    "add_key": (248, 217, (0, 0, 0, 0, 0)),
    "request_key": (249, 218, (0, 0, 0, 0)),
    "kexec_load": (246, 104, (0, 1 << 40, 0, 0)),
    "init_module": (175, 105, (0, 0, 0)),
    "userfaultfd": (323, 282, (0xFFFF,)),
    "io_uring_setup": (425, 425, (0, 0)),
    "open_by_handle_at": (304, 265, (-1, 0, 0)),
    "mount": (165, 40, (0, 0, 0, 0, 0)),
    "umount2": (166, 39, (0, 0xFFFF)),
    "fsopen": (430, 430, (0, 0xFFFF)),
    "setns": (308, 268, (-1, 0)),
    "acct": (163, 89, (1,)),
    "settimeofday": (164, 170, (1, 0)),
    "personality": (135, 92, (0x0040000,)),
    "sched_setscheduler": (144, 119, (0, 1, 0)),
    "sched_setparam": (142, 118, (0, 0)),
    "sched_setattr": (314, 274, (0, 0, 0)),
    "unshare": (272, 97, (0x00020000,)),
    "socket": (41, 198, (40, 1, 0)),
}
HARMLESS = {
    "unshare": (272, 97, (0,)),
    "socket": (41, 198, (1, 1, 0)),
    "personality": (135, 92, (0xFFFFFFFF,)),
    "memfd_create": (319, 279, (0, 0)),
    "sched_setscheduler": (144, 119, (0, 3, 0)),
}
CALLS = """
import ctypes, errno, json, struct, sys
from framekiln.capture.system_calls import chromium_filter
program = chromium_filter()
code = ctypes.create_string_buffer(program, len(program))
header = ctypes.create_string_buffer(struct.pack("@HP", len(program) // 8, ctypes.addressof(code)))
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, header, 0, 0) == 0
refused = []
for name, (number, arguments) in json.loads(sys.argv[1]).items():
    ctypes.set_errno(0)
    result = libc.syscall(ctypes.c_long(number), *map(ctypes.c_long, arguments))
    if result == -1 and ctypes.get_errno() == errno.EPERM:
        refused.append(name)
print(json.dumps(refused))
"""


@pytest.mark.parametrize(("calls", "refused"), [(RISKY, True), (HARMLESS, False)])
def test_the_filter_refuses_risky_calls(
    calls: dict[str, tuple[int, int, tuple[int, ...]]], *, refused: bool
) -> None:
    column = {"x86_64": 0, "aarch64": 1}[platform.machine()]
    numbered = {name: (call[column], call[2]) for name, call in calls.items()}
    command = [sys.executable, "-c", CALLS, json.dumps(numbered)]
    done = subprocess.run(command, capture_output=True, check=True, timeout=TIMEOUT_S)
    assert json.loads(done.stdout) == (list(calls) if refused else [])


def test_an_ordinary_user_reads_raw_frames_too(shared_browser: SharedBrowser) -> None:
    command = [sys.executable, "-m", "tests.support.ordinary_browser"]
    environment = {**os.environ, "HOME": "/tmp"}
    done = subprocess.run(
        command, capture_output=True, check=True, timeout=TIMEOUT_S, env=environment
    )
    found = json.loads(done.stdout)
    assert found["uids"] == [found["uid"]] != [0]
    require_raw_pixels(shared_browser.get(), found["reason"])
    assert (found["method"], found["reason"]) == ("raw-memory", None)


def show_until_it_fails(
    html: str,
    limits: BrowserLimits,
    confinement: Confinement | None = None,
    prepare: Callable[[Browser, Page], None] | None = None,
) -> None:
    with (
        open_browser(confinement=confinement, limits=limits) as browser,
        loaded(browser, html) as page,
    ):
        if prepare is not None:
            prepare(browser, page)
        for number in range(10_000):
            page.show(number, number * 100_000)


@pytest.mark.parametrize("confinement", Confinement)
def test_a_page_over_the_memory_limit_fails_by_name(confinement: Confinement) -> None:
    available(confinement)
    bomb = """<script>const kept = []; setInterval(() => {
        kept.push(new Uint8Array(64 << 20).fill(1)) }, 1)</script>"""
    with pytest.raises(PageOverLimit, match="more than 400 MiB of memory") as raised:
        show_until_it_fails(bomb, BrowserLimits(memory_mib=400), confinement)
    assert not raised.value.retryable
    assert "FRAMEKILN_BROWSER_MEMORY_MIB" in raised.value.message


@pytest.mark.parametrize(
    ("limits", "named"),
    [
        (BrowserLimits(processes=16), "more than 16 processes"),
        (BrowserLimits(threads=128), "more than 128 threads"),
    ],
)
def test_a_page_with_too_many_windows_fails_by_name(limits: BrowserLimits, named: str) -> None:
    opened = "<script>for (let i = 0; i < 60; i++) open('about:blank', i, 'noopener')</script>"
    with pytest.raises(PageOverLimit, match=named):
        show_until_it_fails(opened, limits)


@pytest.mark.parametrize("confinement", Confinement)
def test_a_page_that_fills_the_disk_fails_by_name(confinement: Confinement) -> None:
    available(confinement)
    with pytest.raises(PageOverLimit, match="more than 64 MiB of disk"):
        show_until_it_fails("<p>x", BrowserLimits(disk_mib=64), confinement, download)


def download(browser: Browser, page: Page) -> None:
    """Save 100 MiB. Pages write nothing to a disk, so Chromium is set to accept downloads."""
    in_bubblewrap = browser.confinement is not Confinement.UNPRIVILEGED_USER
    folder = "/tmp" if in_bubblewrap else profile_of(browser)
    accept = {"behavior": "allow", "downloadPath": folder, "browserContextId": page._profile}
    browser.connection.call("Browser.setDownloadBehavior", accept, session=None, within_s=TIMEOUT_S)
    page.evaluate("""{
        const link = document.createElement('a')
        link.href = URL.createObjectURL(new Blob([new Uint8Array(100 << 20).fill(1)]))
        link.download = 'large'
        link.click()
    }""")


def profile_of(browser: Browser) -> str:
    option = "--user-data-dir="
    for pid in descendants(browser.pid):
        for argument in Path(f"/proc/{pid}/cmdline").read_text().split("\0"):
            if argument.startswith(option):
                return argument.removeprefix(option)
    raise AssertionError("Chromium has no profile")


def test_limits_come_from_the_settings() -> None:
    settings = Settings(
        browser_memory_mib=700, browser_processes=20, browser_threads=300, browser_disk_mib=99
    )
    limits = BrowserLimits.of(settings)
    assert limits == BrowserLimits(memory_mib=700, processes=20, threads=300, disk_mib=99)
    assert 0 < BrowserLimits.of(Settings()).memory_mib <= 4096
