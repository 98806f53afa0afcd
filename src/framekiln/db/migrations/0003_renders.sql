-- Renders (v1) and their progress.

CREATE TABLE render (
    id uuid PRIMARY KEY,
    organization_id uuid NOT NULL REFERENCES organization (id) ON DELETE CASCADE,
    api_key_id uuid REFERENCES api_key (id) ON DELETE SET NULL,
    status text NOT NULL
        CHECK (status IN ('created', 'queued', 'rendering', 'recovering', 'complete', 'failed')),
    md5 text,
    metadata jsonb NOT NULL,
    source_key text NOT NULL,
    -- What was asked for; null means: as the composition says.
    asked_width_px integer,
    asked_height_px integer,
    asked_fps text,
    asked_duration_ms integer,
    -- What was made. Rates are fractions written as text: 30000/1001.
    width_px integer,
    height_px integer,
    fps text,
    duration_ms integer,
    output_key text,
    byte_size bigint,
    record jsonb,
    -- Counts the workers that took this render on; only the last one may write.
    fence integer NOT NULL DEFAULT 0,
    error_code text,
    error_message text,
    created_at timestamptz NOT NULL,
    started_at timestamptz,
    completed_at timestamptz,
    failed_at timestamptz,
    expires_at timestamptz
);

CREATE INDEX render_organization ON render (organization_id, created_at DESC);
CREATE INDEX render_md5 ON render (organization_id, md5) WHERE md5 IS NOT NULL;

-- Written several times a second and worth nothing after a crash.
CREATE UNLOGGED TABLE render_progress (
    render_id uuid PRIMARY KEY REFERENCES render (id) ON DELETE CASCADE,
    frames_done integer NOT NULL,
    frame_count integer NOT NULL
);
