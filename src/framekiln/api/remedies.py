"""What a caller can do about an error: the field `remedy` of error responses.

Codes that have no entry get the remedy of their kind. A test goes through all classes of errors.
"""

from typing import Final

from framekiln.identity.errors import ReviewLinkMissing, SessionEnded, SessionMissing
from framekiln.kit.errors import (
    Blame,
    CompositionFailed,
    FramekilnError,
    RateLimited,
    RemoteFailed,
    TooLarge,
    Unauthenticated,
    Unavailable,
)

REPORT: Final = "Report it to the operator with the request id: the log has the details."

KIND_REMEDIES: Final[tuple[tuple[type[FramekilnError], str], ...]] = (
    (ReviewLinkMissing, "Open the link of the review task in this browser."),
    (SessionMissing, "Log in with POST /login: this route needs a session, and ignores keys."),
    (SessionEnded, "Log in again with POST /login."),
    (
        Unauthenticated,
        "Send a valid key as Authorization: Bearer KEY; framekiln keys create makes one.",
    ),
    (TooLarge, "Send less: the message names the limit."),
    (RateLimited, "Wait for the seconds in Retry-After, then send the request again."),
    (RemoteFailed, "Check the other server and its media, then try again."),
    (
        CompositionFailed,
        "Change what the message names in the page, the config or its media, and make it again.",
    ),
    (Unavailable, "Try again in a moment; Retry-After has the seconds."),
)
"""Remedies that all errors of a kind have; the first kind that fits counts."""

REMEDIES: Final = {
    # Not found
    "not_found": "The routes are listed at /docs.",
    "method_not_allowed": "The methods of each route are listed at /docs.",
    "api_key_not_found": "List keys with GET /api/v1/keys or framekiln keys list.",
    "blob_not_found": "Upload or render it again: its content is gone.",
    "bulk_not_found": "List bulks with GET /v2/bulks.",
    "callback_not_found": "Use callback.url of the request to the endpoint, unchanged.",
    "content_not_found": "Show the file with GET /api/v1/files/{file_id}: it says what it has.",
    "correction_not_found": (
        "List corrections with GET /api/v1/transcriptions/{transcription_id}/corrections."
    ),
    "endpoint_not_found": "List endpoints with GET /api/v1/pipeline-endpoints.",
    "file_not_found": "List files with GET /api/v1/files.",
    "frame_not_found": "GET /api/v1/files/{file_id}/frame-times says which frames there are.",
    "init_segment_not_found": "Take addresses from the playlist of the source.",
    "invitation_not_found": "Ask an owner for a new invitation: each link works once.",
    "job_not_found": "List jobs with framekiln jobs list.",
    "link_not_found": "List links with GET /api/v1/links, and use url unchanged.",
    "member_not_found": "List members with GET /api/v1/members.",
    "namespace_not_found": "List namespaces with GET /api/v1/files/{file_id}/metadata.",
    "organization_not_found": "List organizations with framekiln orgs list.",
    "output_missing": "Make the output again: it was deleted before it was copied.",
    "pipeline_batch_not_found": "List batches with GET /api/v1/pipeline-batches.",
    "pipeline_not_found": "List pipelines with GET /api/v1/pipelines.",
    "pipeline_review_not_found": "List review tasks with GET /api/v1/pipeline-reviews.",
    "pipeline_run_not_found": "List runs with GET /api/v1/pipeline-runs.",
    "pipeline_version_not_found": (
        "List versions with GET /api/v1/pipelines/{pipeline_id}/versions."
    ),
    "render_not_found": "List renders with GET /api/v1/renders.",
    "rendition_not_found": "GET /api/v1/transcode/manifest.json lists the renditions of a source.",
    "segment_not_found": "Take addresses from the playlist; of a new film it grows.",
    "stream_not_found": "Start one with POST /api/v1/files/stream.",
    "template_not_found": "List templates with GET /v2/templates.",
    "template_version_not_found": "List versions with GET /v2/templates/{template_id}/versions.",
    "track_not_found": "List tracks with GET /api/v1/files/{file_id}.",
    "transcription_not_found": "List transcriptions with GET /api/v1/transcriptions.",
    "user_not_found": "List users with framekiln users list.",
    "video_not_found": "List videos with GET /v2/videos.",
    "webhook_delivery_not_found": (
        "List deliveries with GET /api/v1/webhooks/{webhook_id}/deliveries."
    ),
    "webhook_not_found": "List webhooks with GET /api/v1/webhooks.",
    # Conflicts
    "conflict": "Read the resource again: its state has changed.",
    "already_member": "Change the role of the member instead.",
    "api_key_id_taken": "Choose another key.",
    "api_key_revoked": "Make a new key with POST /api/v1/keys or framekiln keys create.",
    "bulk_key_reused": "Send another Idempotency-Key, or the same rows and template.",
    "bulk_not_ended": "Wait until the status in GET /v2/bulks/{bulk_id} is not running.",
    "correction_overlaps": "Delete the other correction first, or let the span contain all of it.",
    "email_taken": "Choose another address, or use the user that has it.",
    "endpoint_archived": "Name an endpoint that is not archived, or register a new one.",
    "file_not_ready": "Wait until GET /api/v1/files/{file_id} says ready, or upload it again.",
    "file_takes_no_content": "Create a new file with POST /api/v1/files and upload there.",
    "folder_in_use": "Stop the other process, or set another FRAMEKILN_DATA.",
    "fragment_differs": "Resume a stream with the media it began with, or start a new one.",
    "fragment_gap": "Send the fragment in next, then those after it.",
    "idempotency_conflict": "Send another Idempotency-Key, or the same body.",
    "init_missing": "Send the init segment of the track first.",
    "job_already_queued": "Wait for the job that is queued.",
    "job_not_failed": "Retry only jobs that have failed.",
    "last_owner": "Make somebody else an owner first.",
    "no_webhook_for_topic": "Add the topic to a webhook of this key, or resume a paused one.",
    "not_a_film": "Download a still with GET /v2/videos/{video_id}/download.",
    "organization_name_taken": "Choose another name.",
    "pipeline_archived": "Create a new pipeline with POST /api/v1/pipelines.",
    "pipeline_name_taken": "Choose another name, or archive the pipeline that has it.",
    "render_has_composition": "Create a new render for another bundle.",
    "render_is_active": "Delete it when it has ended.",
    "render_not_complete": (
        "Follow GET /api/v1/renders/{render_id}/progress until it is complete; if it failed, its"
        " error says why."
    ),
    "render_of_video": "Delete the video with DELETE /v2/videos/{video_id}.",
    "review_conflict": "Nothing is left to decide: the task shows the decision.",
    "review_expired": "Start a new run: the task was not decided in time.",
    "review_not_pending": "Nothing is left to decide: the message says why.",
    "run_not_cancellable": "Nothing is left to cancel: the run has ended.",
    "run_not_retryable": "Start a new run with POST /api/v1/pipeline-runs.",
    "session_exists": "Log out first, or send replaces_session: true to give the session up.",
    "step_lost": "Nothing needs to be done: another worker has the step.",
    "step_not_waiting": "Nothing needs to be done: the attempt has ended.",
    "stream_closed": "Start a new stream with POST /api/v1/files/stream.",
    "stream_incomplete": "Send the missing fragments, then seal it again.",
    "too_many_bulks": "Wait until a bulk has ended, or cancel one.",
    "too_many_corrections": "Delete corrections that are not needed, or correct longer spans.",
    "too_many_invitations": "Revoke open invitations that nobody needs.",
    "too_many_keys": "Revoke keys that are not used with DELETE /api/v1/keys/{key_id}.",
    "too_many_links": "Revoke links that nobody needs with DELETE /api/v1/links/{link_id}.",
    "too_many_tracks": "Put the other tracks into another file.",
    "too_many_versions": "Create a new template with POST /v2/templates.",
    "too_many_webhooks": "Delete a webhook, or add its topics to another.",
    "track_exists": "Use another track number, or the track that is there.",
    "transcription_not_complete": (
        "Follow GET /api/v1/transcriptions/{transcription_id}/progress until it is complete."
    ),
    "video_not_ready": (
        "Follow GET /v2/videos/{video_id}/progress until it is ready; if it failed, its error says"
        " why."
    ),
    "webhook_paused": "Resume it with POST /api/v1/webhooks/{webhook_id}/resume.",
    # Gone, refused, out of range
    "file_expired": "Upload it again, with a later expires_at or none.",
    "gone": "Create it again.",
    "invitation_expired": "Ask an owner for a new invitation.",
    "link_expired": "Ask whoever sent the link for a new one.",
    "link_revoked": "Ask whoever sent the link for a new one.",
    "forbidden": "Send the request from an allowed origin, or with a key.",
    "role_too_low": "Ask an owner for the role that the message names.",
    "cross_origin": "Send an API key, or the request from a page of this service.",
    "metrics_forbidden": "Ask from this machine, or send the token in FRAMEKILN_METRICS_TOKEN.",
    "unknown_host": "Use the address in FRAMEKILN_BASE_URL, or send an API key.",
    "out_of_range": "Continue at next_byte.",
    "range_not_satisfiable": "Ask for a range within the size in Content-Range.",
    "upload_gap": "Continue at next_byte.",
    # More specific than their kinds
    "unreadable_media": "Repair, convert or replace the media file that the message names.",
    "login_failed": "Check address and password; framekiln users password sets a new one.",
    "quota_exceeded": "Wait for Retry-After, or ask the operator for a higher quota.",
    "too_many_streams": "Close another event stream, or poll the resource.",
    "duration_unknown": "Give duration_ms, or let the page say how long it is.",
    "asset_missing": "Check the address of the source and who may read it.",
    "render_timeout": "Make the film shorter, smaller or simpler, or render it in parts.",
    "page_blocked": "Let scripts return: nothing is drawn while one runs.",
    "page_never_settled": "Let pending requests and window.renderReady end.",
    "lottie_unavailable": "The operator has to run make setup: the player was not built.",
}


def remedy_of(error: FramekilnError) -> str | None:
    """Return what to do about an error; None if its message says what a field must be."""
    return remedy_of_kind(type(error))


def remedy_of_kind(kind: type[FramekilnError]) -> str | None:
    """Return what to do about errors of a class."""
    if kind.code in REMEDIES:
        return REMEDIES[kind.code]
    for base, remedy in KIND_REMEDIES:
        if issubclass(kind, base):
            return remedy
    return REPORT if kind.blame is Blame.US else None
