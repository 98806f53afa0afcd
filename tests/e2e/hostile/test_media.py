"""Media made to do harm, sent to a running service beside somebody's ordinary work."""

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from tests.support.clips import Clip, make_clip
from tests.support.hostile_media import (
    gif_bomb,
    gif_of_many_large_pictures,
    many_cues,
    mislabelled_sounds,
    png_bomb,
    wav,
    with_count,
    with_picture_size,
)
from tests.support.playback import ClipServer
from tests.support.service import Account, Service

FILES = "/api/v1/files"
RENDERS = "/api/v1/renders"
PAGE = '<body style="background:#0a0">A neighbour</body>'
FILM = """<ef-timegroup mode="fixed" duration="1s" style="display:block;width:160px;height:90px">
<ef-audio src="{src}"></ef-audio></ef-timegroup>"""


@pytest.fixture(scope="module")
def neighbour(shared_service: Service) -> Iterator[Account]:
    with shared_service.open_account("neighbour") as account:
        yield account


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("clip") / "a.mp4"
    return make_clip(path, Clip(duration_s=Fraction(1))).read_bytes()


def send(account: Account, type_: str, data: bytes) -> dict[str, Any]:
    """Upload a file; return the refusal, or the file as it is then."""
    fields = {"filename": "a", "type": type_, "byte_size": len(data)}
    created = account.http.post(FILES, json=fields)
    if not created.is_success:
        return dict(created.json())
    answer = account.http.post(f"{FILES}/{created.json()['id']}/upload", content=data)
    assert answer.status_code < 500, answer.text
    return dict(answer.json()) if answer.is_success else {"status": "refused", **answer.json()}


def start_render(account: Account, html: str) -> str:
    fields = {"html": html, "width": 160, "height": 90, "fps": 10, "duration_ms": 1000}
    answer = account.http.post(RENDERS, json=fields)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


def ended(account: Account, address: str) -> dict[str, Any]:
    def ask() -> dict[str, Any] | None:
        found = dict(account.http.get(address).json())
        return found if found["status"] in ("complete", "failed", "ready") else None

    return account.service.wait_for(ask, f"{address} has not ended")


def test_decompression_bombs_are_refused_while_another_organization_renders(
    account: Account, neighbour: Account, clip: bytes
) -> None:
    render_id = start_render(neighbour, PAGE)
    for type_, data, message in (
        ("image", png_bomb(), "30000x30000"),
        ("image", gif_bomb(), "65535x65535"),
        ("image", gif_of_many_large_pictures(), ""),
        ("caption", many_cues(10**6), ""),
        ("caption", many_cues(80_000), "more than 50 cues are shown at the same time"),
    ):
        answer = send(account, type_, data)
        assert "error" in answer, answer
        assert message in answer["message"]
    videos = [
        send(account, "video", data)
        for data in (
            with_picture_size(clip),
            with_count(clip, b"stsz", skip=12),
            clip[: clip.index(b"moov") + 200],
            wav(channels=400),
        )
    ]
    films = [ended(account, f"{FILES}/{video['id']}") for video in videos]
    assert films[-1]["status"] == "failed"
    assert "400 audio channels; at most 64" in str(films[-1])
    assert ended(neighbour, f"{RENDERS}/{render_id}")["status"] == "complete"
    assert account.http.get("/healthz").status_code == 200


def test_films_with_hostile_sounds_do_not_affect_another_organization(
    account: Account, neighbour: Account, tmp_path: Path
) -> None:
    sounds = {
        "endless.wav": wav(states_bytes=0xFFFF_0000),
        "samples.m4a": mislabelled_sounds(tmp_path)["samples"],
        "channels.wav": wav(channels=400),
    }
    for name, data in sounds.items():
        (tmp_path / name).write_bytes(data)
    with ClipServer({name: tmp_path / name for name in sounds}) as server:
        hostile = [start_render(account, FILM.format(src=server.address(name))) for name in sounds]
        beside = start_render(neighbour, PAGE)
        assert ended(neighbour, f"{RENDERS}/{beside}")["status"] == "complete"
        films = [ended(account, f"{RENDERS}/{render_id}") for render_id in hostile]
    assert films[0]["status"] == "complete"
    assert films[-1]["status"] == "failed"
    assert "400 audio channels; at most 64" in str(films[-1])
