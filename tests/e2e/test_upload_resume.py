"""A large upload, interrupted ten times and in every way: it arrives whole, and only once."""

import hashlib
import json
import os
import random
import signal
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from framekiln.client import Client
from tests.support.clips import make_clip
from tests.support.faulty_network import FaultyNetwork, NetworkFault
from tests.support.service import API_KEY, Service

MIB = 1 << 20
FILE_BYTES = 128 * MIB
"""So large that an upload from the start again would be seen in what was sent."""
CHUNK_BYTES = 8 * MIB
SEED = 20
WAYS = ["connection"] * 5 + ["client"] * 2 + ["database"] * 2 + ["api"]
PROCESSES = {"api": ("framekiln", " api"), "database": ("postgres", "-D")}


def large_film(path: Path, size_bytes: int) -> Path:
    """A short film followed by a box of noise, which players step over: no two places are alike."""
    film = make_clip(path).read_bytes()
    noise_bytes = size_bytes - len(film)
    numbers = random.Random(SEED)
    with path.open("wb") as file:
        file.write(film + struct.pack(">I4s", noise_bytes, b"free"))
        left = noise_bytes - 8
        while left:
            left -= file.write(numbers.randbytes(min(left, 16 * MIB)))
    return path


class Uploader:
    """`framekiln upload` in a process of its own; started again whenever it was killed."""

    def __init__(self, path: Path) -> None:
        self._command = [sys.executable, "-m", "framekiln", "upload", str(path), "--json"]
        self._process: subprocess.Popen[bytes] | None = None

    def kill(self) -> None:
        assert self._process is not None
        self._process.kill()

    def run(self, url: str) -> dict[str, Any]:
        """Return what it says when it has ended by itself."""
        environment = {"FRAMEKILN_BASE_URL": url, "FRAMEKILN_API_KEY": API_KEY}
        while True:
            self._process = subprocess.Popen(
                self._command, env={**os.environ, **environment}, stdout=subprocess.PIPE
            )
            output, _ = self._process.communicate()
            if self._process.returncode != -signal.SIGKILL:
                assert self._process.returncode == 0
                found: dict[str, Any] = json.loads(output)
                return found


@contextmanager
def broken_network(
    service: Service, uploader: Uploader, size_bytes: int
) -> Iterator[FaultyNetwork]:
    """Ten interruptions at places of an upload that chance, but always the same chance, chose."""
    numbers = random.Random(SEED)
    places = sorted(numbers.sample(range(MIB, size_bytes - MIB), len(WAYS)))
    ways = numbers.sample(WAYS, len(WAYS))

    def kill(name: str) -> Callable[[], bool]:
        def happen() -> bool:
            service.kill(*PROCESSES[name])
            return False

        return happen

    def kill_client() -> bool:
        uploader.kill()
        return True

    happen = {"client": kill_client, "connection": lambda: True} | {
        name: kill(name) for name in PROCESSES
    }
    troubles = [NetworkFault(at, way, happen[way]) for at, way in zip(places, ways, strict=True)]
    with FaultyNetwork(urlsplit(service.url).port or 0, troubles) as pipelines:
        yield pipelines


@pytest.mark.spec("4.4")
def test_an_upload_interrupted_ten_times_completes(
    killable_service: Service, tmp_path: Path
) -> None:
    service = killable_service
    film = large_film(tmp_path / "film.mp4", FILE_BYTES)
    uploader = Uploader(film)
    with broken_network(service, uploader, FILE_BYTES) as pipelines:
        found = uploader.run(pipelines.url)
    assert sorted(pipelines.happened) == sorted(WAYS)
    # Each time it went on where it had stopped: an interruption costs a chunk at most.
    assert FILE_BYTES <= pipelines.sent_bytes < FILE_BYTES + len(WAYS) * (CHUNK_BYTES + MIB)
    with Client(service.url, API_KEY) as client:
        ready = client.files.wait_ready(found["id"])
        assert (ready.status, ready.byte_size) == ("ready", FILE_BYTES)
    md5 = hashlib.md5(usedforsecurity=False)
    with service.http.stream("GET", f"/api/v1/files/{found['id']}/content") as answer:
        for piece in answer.iter_bytes():
            md5.update(piece)
    with film.open("rb") as file:
        sent = hashlib.file_digest(file, "md5").hexdigest()
    assert md5.hexdigest() == sent == ready.md5
