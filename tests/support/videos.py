"""Layer configs as users of v2 write them, external media, and functions that end videos."""

from fractions import Fraction
from pathlib import Path
from typing import Any

from framekiln.renders.model import Render, RenderResult
from framekiln.storage.keys import TrackedKey
from framekiln.videos.model import Video
from tests.support.app import AppHarness
from tests.support.receiver import Answer, ReceivedRequest, Receiver

VIDEOS = "/v2/videos"
NEW = "/v2/videos/new"
CLIP = "https://media.example/clip.mp4"


def spec_config(**changes: Any) -> dict[str, Any]:
    """A config with every field in the specification."""
    return {
        "backgroundColor": "#000000FF",
        "dimensions": {"width": 1280, "height": 720},
        "duration": 5,
        "extension": "mp4",
        "layers": [
            {
                "id": "7f1c2d9e",
                "type": "video",
                "file": CLIP,
                "size": {"width": 1280, "height": 720, "format": "fit", "scale": 1},
                "trim": {"start": 2},
                "audio": {"volume": 0.5},
                "position": {
                    "x": "center",
                    "y": "center",
                    "z": 0,
                    "angle": 0,
                    "angleX": 0,
                    "angleY": 0,
                    "origin": "center",
                    "isRelative": False,
                },
                "timeline": {"start": 0},
                "transitions": [],
            },
            {"id": "a2", "type": "audio", "file": "https://media.example/music.mp3"},
        ],
        **changes,
    }


def plain_config(**changes: Any) -> dict[str, Any]:
    """The smallest film: a red second without any source."""
    return {
        "backgroundColor": "#FF0000",
        "dimensions": {"width": 160, "height": 90},
        "duration": 1,
        "fps": 10,
        **changes,
    }


def template_body(**changes: Any) -> dict[str, Any]:
    """A template as in the specification."""
    return {
        "name": "Greeting",
        "config": {
            "dimensions": {"width": 1280, "height": 720},
            "duration": 4,
            "extension": "mp4",
            "layers": [{"id": "v", "type": "video", "source": "{{ source }}"}],
        },
        "inputs": {"source": "required|active_url"},
        "default_values": {"source": CLIP},
        **changes,
    }


class MediaServer(Receiver):
    """Serves files of a folder by name; 404 for all others."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder
        self.answer_by(self._find)

    def _find(self, request: ReceivedRequest) -> Answer:
        path = self.folder / request.path.split("?")[0].lstrip("/")
        return Answer(body=path.read_bytes()) if path.is_file() else Answer(status=404)


async def video_of(app: AppHarness, video_id: str) -> Video:
    """The stored video; the test's organization is that of its key."""
    caller = await app.services.identity.authenticate(app.key)
    return await app.services.v2.videos.get(caller.organization.id, video_id)


async def create_video(app: AppHarness, config: dict[str, Any], **beside: Any) -> str:
    """Post a config and return the id of its video."""
    answer = await app.client.post(NEW, json={"config": config, **beside})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


async def start_render(app: AppHarness, render: Render) -> None:
    """Start a render without a real worker."""
    await app.services.render_worker.start(render.id, job_id=1, attempt=1)


async def complete_video(app: AppHarness, video_id: str, film: bytes, **facts: Any) -> None:
    """Complete a video, with a film of two seconds that was made elsewhere."""
    render = (await video_of(app, video_id)).render
    key = f"org/{render.organization_id}/renders/{render.id}/output-1.mp4"
    await app.services.blobs.put(TrackedKey(key), film)
    await start_render(app, render)
    known: dict[str, Any] = {
        "width_px": 320,
        "height_px": 240,
        "fps": Fraction(30),
        "duration_ms": 2000,
        **facts,
    }
    known.setdefault("record", {"warnings": []})
    output = RenderResult(**known, output_key=key, byte_size=len(film))
    assert await app.services.render_worker.complete(render.id, output)
