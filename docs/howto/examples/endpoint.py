"""An endpoint for pipelines: finds where a colour is in the frames it is given, and answers boxes.

    python endpoint.py --secret whsec_... --colour dc1e1e --port 9000

It checks signatures, accepts the work with 202, shows signs of life while it looks, and calls back
with one annotation for each time the colour is in sight. A request that comes twice is done once.
Needs httpx, numpy, Pillow and standardwebhooks; everything else is Python's own.
"""

import argparse
import io
import json
import logging
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import numpy as np
from PIL import Image
from standardwebhooks import Webhook, WebhookVerificationError

CELLS = 32
"""The frame is looked at in so many cells each way."""
BRIGHTNESS_TOLERANCE = 70
"""Light and shade change how bright a thing is,"""
TINT_TOLERANCE = 9
"""and its tint much less."""
HEARTBEAT_S = 10.0

Box = tuple[float, float, float, float]
Colour = tuple[int, int, int]


def find_colour(jpeg: bytes, colour: Colour) -> Box | None:
    """Return the box around the largest patch of a colour: x, y, w, h as fractions of the frame."""
    picture = Image.open(io.BytesIO(jpeg)).convert("YCbCr")
    wanted = Image.new("RGB", (1, 1), colour).convert("YCbCr")
    away = np.asarray(picture).astype(int) - np.asarray(wanted).astype(int)
    is_alike = np.hypot(away[:, :, 1], away[:, :, 2]) < TINT_TOLERANCE
    mask = is_alike & (np.abs(away[:, :, 0]) < BRIGHTNESS_TOLERANCE)
    patch = _largest_patch(_in_cells(mask))
    if not patch:
        return None
    height, width = mask.shape
    top, bottom, left, right = _pixels_of(patch, height, width)
    ys, xs = np.nonzero(mask[top:bottom, left:right])
    x, y = left + int(xs.min()), top + int(ys.min())
    w, h = int(np.ptp(xs)) + 1, int(np.ptp(ys)) + 1
    return x / width, y / height, w / width, h / height


def _in_cells(mask: np.ndarray) -> set[tuple[int, int]]:
    """Return the cells that are mostly of the colour."""
    rows = np.array_split(mask, min(CELLS, mask.shape[0]), axis=0)
    cells = [np.array_split(row, min(CELLS, mask.shape[1]), axis=1) for row in rows]
    return {
        (y, x) for y, row in enumerate(cells) for x, cell in enumerate(row) if cell.mean() > 0.35
    }


def _largest_patch(cells: set[tuple[int, int]]) -> set[tuple[int, int]]:
    left, best = set(cells), set()
    while left:
        patch, edge = set(), [left.pop()]
        while edge:
            y, x = edge.pop()
            patch.add((y, x))
            near = {(y + 1, x), (y - 1, x), (y, x + 1), (y, x - 1)} & left
            left -= near
            edge.extend(near)
        best = max(best, patch, key=len)
    return best


def _pixels_of(patch: set[tuple[int, int]], height: int, width: int) -> tuple[int, int, int, int]:
    """Return the span of pixels, top, bottom, left, right, that some cells and their edge cover."""
    ys, xs = [y for y, _ in patch], [x for _, x in patch]
    tall, wide = -(-height // min(CELLS, height)), -(-width // min(CELLS, width))
    return (
        max(0, (min(ys) - 1) * tall),
        min(height, (max(ys) + 2) * tall),
        max(0, (min(xs) - 1) * wide),
        min(width, (max(xs) + 2) * wide),
    )


def annotate(found: list[tuple[int, Box | None]], *, until_ms: int) -> list[dict[str, Any]]:
    """Return an annotation, with its keyframes, for each time the colour is in sight."""
    annotations: list[dict[str, Any]] = []
    current: dict[str, Any] | None = None
    for t_ms, box in found:
        if current is not None:
            current["end_ms"] = t_ms
        if box is None:
            current = None
            continue
        if current is None:
            current = {"kind": "colour", "start_ms": t_ms, "end_ms": until_ms, "keyframes": []}
            annotations.append(current)
        current["end_ms"] = until_ms
        x, y, w, h = box
        current["keyframes"].append({"t_ms": t_ms, "x": x, "y": y, "w": w, "h": h})
    return annotations


class Work:
    """The requests that were accepted."""

    def __init__(self, colour: Colour) -> None:
        self._colour = colour
        self._known: set[str] = set()
        self._lock = threading.Lock()

    def accept(self, order: dict[str, Any]) -> None:
        """Begin, unless the same attempt was delivered before."""
        with self._lock:
            if order["idempotency_key"] in self._known:
                return
            self._known.add(order["idempotency_key"])
        threading.Thread(target=self._do, args=(order,), daemon=True).start()

    def _do(self, order: dict[str, Any]) -> None:
        try:
            output = self._look(order)
            result = {"status": "succeeded", "output": output}
        except Exception as error:
            message = f"{type(error).__name__}: {error}"[:1000]
            result = {"status": "failed", "error": {"message": message, "retryable": True}}
        post(order["callback"]["url"], result)

    def _look(self, order: dict[str, Any]) -> dict[str, Any]:
        found: list[tuple[int, Box | None]] = []
        last_sign = time.monotonic()
        for frame in order["media"]["frames"]:
            picture = httpx.get(frame["url"], timeout=30).raise_for_status().content
            found.append((frame["t_ms"], find_colour(picture, self._colour)))
            if time.monotonic() - last_sign > HEARTBEAT_S:
                post(order["callback"]["url"], {"status": "heartbeat"})
                last_sign = time.monotonic()
        until_ms = order["window"]["end_ms"] if order["window"] else order["file"]["duration_ms"]
        annotations = annotate(found, until_ms=until_ms)
        seen = sum(box is not None for _, box in found)
        return {
            "metadata": {"frame_count": len(found), "seen_count": seen},
            "annotations": annotations,
        }


def post(url: str, body: dict[str, Any]) -> None:
    """Call back."""
    httpx.post(url, json=body, timeout=30).raise_for_status()


class Endpoint(BaseHTTPRequestHandler):
    """Answers 202 to what is signed, and 401 to everything else."""

    work: Work
    webhook: Webhook

    def do_POST(self) -> None:
        """Take an order."""
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        try:
            self.webhook.verify(body, headers)
        except WebhookVerificationError:
            self._answer(401)
            return
        self.work.accept(json.loads(body))
        self._answer(202)

    def _answer(self, status: int) -> None:
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()


def main() -> None:
    """Serve until stopped."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--secret", required=True, help="the endpoint's signing secret")
    options.add_argument("--colour", type=bytes.fromhex, default="dc1e1e", help="such as dc1e1e")
    options.add_argument("--port", type=int, default=9000)
    asked = options.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    # Its lines would show tokens and the secret callback address.
    logging.getLogger("httpx").setLevel(logging.WARNING)
    Endpoint.work, Endpoint.webhook = Work(tuple(asked.colour)), Webhook(asked.secret)
    with ThreadingHTTPServer(("127.0.0.1", asked.port), Endpoint) as server:
        logging.info("listening on port %d", server.server_port)
        server.serve_forever()


if __name__ == "__main__":
    main()
