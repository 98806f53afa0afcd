"""Sample events with every documented field, one shape per family, to test a receiver.

Their ids do not exist. Field names are those of real events; the tests of the domains compare.
"""

from typing import Any, Final

Data = dict[str, Any]

_BEGUN: Final = "2025-01-01T12:00:00+00:00"
_ENDED: Final = "2025-01-01T12:00:30+00:00"
_MD5: Final = "9e107d9d372bb6826bd81d3542a419d6"
_RENDER: Final = "00000000-0000-4000-8000-000000000001"
_FILE: Final = "00000000-0000-4000-8000-000000000002"
_RUN: Final = "00000000-0000-4000-8000-000000000003"
_STEP: Final = "00000000-0000-4000-8000-000000000004"
_REVIEW: Final = "00000000-0000-4000-8000-000000000005"
_BATCH: Final = "00000000-0000-4000-8000-000000000006"
_PIPELINE: Final = "00000000-0000-4000-8000-000000000007"
_TRANSCRIPTION: Final = "00000000-0000-4000-8000-000000000008"
_KEY: Final = "00000000-0000-4000-8000-000000000009"
_ORGANIZATION: Final = "00000000-0000-4000-8000-00000000000a"
_DESTINATION: Final = "00000000-0000-4000-8000-00000000000b"
_HOST: Final = "https://kiln.example"


def render(status: str) -> Data:
    """Return a render with this status."""
    is_complete, is_failed = status == "complete", status == "failed"
    return {
        "id": _RENDER,
        "status": status,
        "created_at": _BEGUN,
        "completed_at": _ENDED if is_complete else None,
        "failed_at": _ENDED if is_failed else None,
        "width": 1280,
        "height": 720,
        "fps": 30,
        "byte_size": 1048576 if is_complete else None,
        "duration_ms": 2000 if is_complete else None,
        "md5": _MD5 if is_complete else None,
        "metadata": {"order": "42"},
        "download_url": f"{_HOST}/api/v1/renders/{_RENDER}.mp4" if is_complete else None,
        "expires_at": None,
        "error": _error("page_never_settled") if is_failed else None,
    }


def destination(status: str) -> Data:
    """Return a destination of that render with this status."""
    is_complete = status == "complete"
    return {
        "id": _DESTINATION,
        "type": "s3",
        "address": f"s3://films/{_RENDER}.mp4",
        "status": status,
        "attempts": 1,
        "byte_size": 1048576 if is_complete else None,
        "completed_at": _ENDED if is_complete else None,
        "error": None if is_complete else _error("destination_refused"),
        "render_id": _RENDER,
        "resource_id": _RENDER,
    }


def file(status: str) -> Data:
    """Return a file with this status; its media type is unknown at first."""
    is_known, is_ready = status != "created", status == "ready"
    return {
        "id": _FILE,
        "type": "video",
        "status": status,
        "filename": "clip.mp4",
        "byte_size": 1048576 if is_known else None,
        "md5": _MD5 if is_known else None,
        "mime_type": "video/mp4" if is_known else None,
        "width": 1920 if is_ready else None,
        "height": 1080 if is_ready else None,
        "expires_at": None,
    }


def unprocessed_file() -> Data:
    """Return a file in the format of older clients."""
    return {
        "id": _FILE,
        "byte_size": 1048576,
        "next_byte": 0,
        "md5": _MD5,
        "filename": "clip.mp4",
        "completed_at": None,
    }


def image_file() -> Data:
    """Return an image in the format of older clients."""
    return {
        "id": _FILE,
        "filename": "photo.jpg",
        "byte_size": 65536,
        "md5": _MD5,
        "mime_type": "image/jpeg",
        "width": 800,
        "height": 600,
    }


def isobmff_file() -> Data:
    """Return a video in the format of older clients."""
    return {"id": _FILE, "filename": "clip.mp4", "md5": _MD5}


def isobmff_track() -> Data:
    """Return a track in the format of older clients."""
    return {
        "file_id": _FILE,
        "track_id": 1,
        "type": "video",
        "codec_name": "h264",
        "byte_size": 1048576,
        "duration_ms": 2000,
    }


def transcription(status: str) -> Data:
    """Return a transcription with this status."""
    is_failed = status == "failed"
    return {
        "id": _TRANSCRIPTION,
        "file_id": _FILE,
        "track_id": 2,
        "status": status,
        "engine": "whisper-base",
        "warnings": [],
        "created_at": _BEGUN,
        "completed_at": _ENDED if status == "complete" else None,
        "failed_at": _ENDED if is_failed else None,
        "error": _error("decode_failed") if is_failed else None,
    }


def video(*, is_ready: bool = False, is_failed: bool = False) -> Data:
    """Return a v2 video."""
    address = f"{_HOST}/v2/videos/a1B2c3D4e5"
    return {
        "id": "a1B2c3D4e5",
        "is_ready": is_ready,
        "is_failed": is_failed,
        "timestamp": 1735732800,
        "metadata": {"order": "42"},
        "download_url": f"{address}/download" if is_ready else None,
        "stream_url": f"{address}/stream" if is_ready else None,
        "thumbnail_url": f"{address}/thumbnail" if is_ready else None,
        "error": _video_error() if is_failed else None,
    }


def bulk(status: str) -> Data:
    """Return a bulk with this status."""
    is_running, is_complete = status == "running", status == "complete"
    return {
        "id": "b5C6d7E8f9",
        "status": status,
        "template_id": "t1U2v3W4x5",
        "template_version": 1,
        "row_count": 50,
        "counts": {
            "waiting": 50 if is_running else 0,
            "processing": 0,
            "ready": 49 if is_complete else 0,
            "failed": 1 if is_complete else 0,
            "cancelled": 0 if is_running or is_complete else 50,
        },
        "created_at": _BEGUN,
        "ended_at": None if is_running else _ENDED,
    }


def _video_error() -> Data:
    where = {"layer": "logo", "path": "layers.2.file"}
    return {"code": "asset_missing", "message": "layers.2.file: answered 404", **where}


def pipeline_run(status: str) -> Data:
    """Return a run with this status."""
    is_ended = status not in ("pending", "running")
    return {
        "id": _RUN,
        "pipeline_id": _PIPELINE,
        "pipeline_version": 1,
        "pipeline_digest": f"sha256:{_MD5 * 2}",
        "batch_id": None,
        "file_id": _FILE,
        "external_id": "order-42",
        "metadata": {},
        "status": status,
        "sequence": 1,
        "created_at": _BEGUN,
        "completed_at": _ENDED if is_ended else None,
        "error": _error("endpoint_failed") if status == "failed" else None,
    }


def pipeline_step(status: str) -> Data:
    """Return a step of a run with this status."""
    is_ended = status in ("succeeded", "failed", "skipped", "cancelled")
    return {
        "id": _STEP,
        "pipeline_run_id": _RUN,
        "run_metadata": {},
        "step_key": "check",
        "namespace": "check",
        "type": "review" if status == "waiting_review" else "endpoint",
        "status": status,
        "attempt": 1,
        "sequence": 2,
        "started_at": _BEGUN,
        "completed_at": _ENDED if is_ended else None,
        "watermark_ms": None,
        "review_task_id": _REVIEW if status == "waiting_review" else None,
        "error": _error("endpoint_failed") if status == "failed" else None,
    }


def pipeline_review(status: str) -> Data:
    """Return a review task that was decided or has expired."""
    decided_by = {"type": "api_key", "id": _KEY}
    is_decided = status != "expired"
    return {
        "id": _REVIEW,
        "run_id": _RUN,
        "pipeline_run_id": _RUN,
        "run_metadata": {},
        "input_namespaces": ["check"],
        "step_run_id": _STEP,
        "step_key": "approve",
        "attempt": 1,
        "status": status,
        "decision": {"decision": status, "decided_by": decided_by, "reason": None}
        if is_decided
        else None,
        "sequence": 3,
        "created_at": _BEGUN,
        "expires_at": "2025-01-08T12:00:00+00:00",
        "decided_at": _ENDED if is_decided else None,
    }


def pipeline_batch(status: str) -> Data:
    """Return a batch with this status."""
    done = 10 if status == "completed" else 0
    return {
        "id": _BATCH,
        "pipeline_id": _PIPELINE,
        "pipeline_version": 1,
        "external_id": None,
        "metadata": {},
        "status": status,
        "runs": {"total": 10, "succeeded": done, "failed": 0, "filtered": 0, "cancelled": 0},
        "created_at": _BEGUN,
        "completed_at": _ENDED if done else None,
    }


def webhook_test() -> Data:
    """Return the event that tests whether a receiver can be reached."""
    return {"id": _KEY, "org_id": _ORGANIZATION}


def _error(code: str) -> Data:
    return {"code": code, "message": "made up, for a test"}
