-- Bulks: many videos of one template, a row of data for each.

CREATE TABLE bulk (
    id text PRIMARY KEY,
    organization_id uuid NOT NULL REFERENCES organization (id) ON DELETE CASCADE,
    api_key_id uuid REFERENCES api_key (id) ON DELETE SET NULL,
    -- Kept when the template is deleted; rows that have not started fail then.
    template_id text NOT NULL,
    template_version integer NOT NULL,
    status text NOT NULL,
    row_count integer NOT NULL,
    idempotency_key text,
    request_digest text NOT NULL,
    created_at timestamptz NOT NULL,
    ended_at timestamptz
);

CREATE UNIQUE INDEX bulk_idempotency_key ON bulk (organization_id, idempotency_key)
    WHERE idempotency_key IS NOT NULL;
CREATE INDEX bulk_running ON bulk (organization_id) WHERE status = 'running';

CREATE TABLE bulk_row (
    bulk_id text NOT NULL REFERENCES bulk (id) ON DELETE CASCADE,
    number integer NOT NULL,
    data json NOT NULL,
    status text NOT NULL DEFAULT 'waiting',
    video_id text REFERENCES video (id) ON DELETE SET NULL,
    error_code text,
    error_message text,
    PRIMARY KEY (bulk_id, number)
);

CREATE INDEX bulk_row_status ON bulk_row (bulk_id, status, number);
CREATE INDEX bulk_row_video ON bulk_row (video_id) WHERE video_id IS NOT NULL;
