-- Transcriptions (v1): what is said in a sound track of a file, found out slice by slice.

CREATE TABLE transcription (
    id uuid PRIMARY KEY,
    -- Grows with each one, for pages of a list and to tell the newest.
    position bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    organization_id uuid NOT NULL REFERENCES organization (id) ON DELETE CASCADE,
    api_key_id uuid REFERENCES api_key (id) ON DELETE SET NULL,
    file_id uuid NOT NULL REFERENCES file (id) ON DELETE CASCADE,
    track_id integer NOT NULL,
    status text NOT NULL
        CHECK (status IN ('created', 'pending', 'transcribing', 'complete', 'failed')),
    asked_language text,
    -- What is spoken: as asked or set, else as detected; null while unknown or when nobody speaks.
    language text,
    work_slice_ms integer NOT NULL CHECK (work_slice_ms > 0),
    -- As the track says at first, as its sound really is once that was decoded.
    duration_ms bigint NOT NULL,
    -- Counts the workers that began to prepare it; only the last one may write.
    fence integer NOT NULL DEFAULT 0,
    -- The decoded sound, from preparation until the end.
    samples_key text,
    transcript_key text,
    error_code text,
    error_message text,
    created_at timestamptz NOT NULL,
    completed_at timestamptz,
    failed_at timestamptz
);

CREATE INDEX transcription_organization ON transcription (organization_id, position DESC);
CREATE INDEX transcription_file ON transcription (file_id, position DESC);

CREATE TABLE transcription_slice (
    transcription_id uuid NOT NULL REFERENCES transcription (id) ON DELETE CASCADE,
    number integer NOT NULL,
    -- Counts the workers that took this slice on; only the last one may write.
    fence integer NOT NULL DEFAULT 0,
    -- What was heard in it; null until it is done.
    blob_key text,
    PRIMARY KEY (transcription_id, number)
);
