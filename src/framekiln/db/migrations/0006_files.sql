-- Files (v1): what callers upload, the tracks made of it or uploaded with it, uploads under way.

CREATE TABLE file (
    id uuid PRIMARY KEY,
    organization_id uuid NOT NULL REFERENCES organization (id) ON DELETE CASCADE,
    api_key_id uuid REFERENCES api_key (id) ON DELETE SET NULL,
    filename text NOT NULL,
    type text NOT NULL CHECK (type IN ('video', 'image', 'caption')),
    status text NOT NULL
        CHECK (status IN ('created', 'uploading', 'receiving', 'processing', 'ready', 'failed')),
    -- As given; compared without dashes and case.
    md5 text,
    -- As given; what the content turned out to be is media_type.
    mime_type text,
    media_type text,
    -- Null when tracks come alone, and nobody says how large the original was.
    byte_size bigint CHECK (byte_size > 0),
    next_byte bigint NOT NULL DEFAULT 0,
    -- Whether the original itself is kept, and not only tracks.
    has_source boolean NOT NULL DEFAULT false,
    width_px integer,
    height_px integer,
    duration_ms bigint,
    -- Counts the workers that took its processing on; only the last one may write.
    fence integer NOT NULL DEFAULT 0,
    error_code text,
    error_message text,
    created_at timestamptz NOT NULL,
    completed_at timestamptz,
    failed_at timestamptz,
    expires_at timestamptz,
    -- The bytes go when it expires, the row stays for a while to say so.
    content_removed_at timestamptz
);

CREATE INDEX file_organization ON file (organization_id, created_at DESC);
CREATE INDEX file_md5 ON file (organization_id, replace(lower(md5), '-', ''), created_at DESC)
    WHERE md5 IS NOT NULL;
CREATE INDEX file_expiry ON file (expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE file_track (
    file_id uuid NOT NULL REFERENCES file (id) ON DELETE CASCADE,
    -- The number of the stream, from 1; -1 is the small track for scrubbing.
    track_id integer NOT NULL CHECK (track_id <> 0),
    type text NOT NULL CHECK (type IN ('audio', 'video')),
    codec_name text NOT NULL,
    duration_ms bigint NOT NULL,
    byte_size bigint NOT NULL CHECK (byte_size > 0),
    next_byte bigint NOT NULL DEFAULT 0,
    -- All bytes are here and stored in one piece.
    is_complete boolean NOT NULL DEFAULT false,
    probe_info jsonb NOT NULL,
    PRIMARY KEY (file_id, track_id)
);

-- What has come of a file's own content (track 0) or of a track, in pieces that leave no gap.
CREATE TABLE upload_part (
    file_id uuid NOT NULL REFERENCES file (id) ON DELETE CASCADE,
    track_id integer NOT NULL,
    first_byte bigint NOT NULL,
    end_byte bigint NOT NULL CHECK (end_byte > first_byte),
    blob_key text NOT NULL,
    PRIMARY KEY (file_id, track_id, first_byte)
);

-- Written several times a second and worth nothing after a crash.
CREATE UNLOGGED TABLE file_progress (
    file_id uuid PRIMARY KEY REFERENCES file (id) ON DELETE CASCADE,
    permille integer NOT NULL
);
