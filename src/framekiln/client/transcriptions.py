"""Transcriptions on the service: start them, wait for them, read them."""

from typing import Final, Literal

from framekiln.client.connection import OnFraction, ServiceConnection, follow_progress
from framekiln.client.model import RemoteTranscription

_TRANSCRIPTIONS: Final = "/api/v1/transcriptions"

TextForm = Literal["json", "vtt", "srt"]


class RemoteTranscriptions:
    """The transcriptions of an organization."""

    def __init__(self, connection: ServiceConnection) -> None:
        self._connection = connection

    def create(self, file_id: str, track_id: int | None = None) -> RemoteTranscription:
        """Transcribe a track of a file, by default the first audio track. Idempotent."""
        body = {} if track_id is None else {"trackId": track_id}
        path = f"/api/v1/files/{file_id}/transcribe"
        return RemoteTranscription.of(self._connection.request_json("POST", path, json=body))

    def get(self, transcription_id: str) -> RemoteTranscription:
        """Return a transcription."""
        raw = self._connection.request_json("GET", f"{_TRANSCRIPTIONS}/{transcription_id}")
        return RemoteTranscription.of(raw)

    def wait(
        self, transcription_id: str, on_fraction: OnFraction = lambda _: None
    ) -> RemoteTranscription:
        """Return a transcription when it is complete, or raise `EndedBadly` with the reason."""
        follow_progress(
            self._connection, f"{_TRANSCRIPTIONS}/{transcription_id}/progress", on_fraction
        )
        return self.get(transcription_id)

    def text(self, transcription_id: str, form: TextForm = "vtt") -> str:
        """Return the text as WebVTT, SubRip or JSON."""
        return self._connection.request("GET", f"{_TRANSCRIPTIONS}/{transcription_id}.{form}").text
