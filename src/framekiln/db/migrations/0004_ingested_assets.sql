-- What was downloaded for renders, once per organization and URL, kept for an hour.

CREATE TABLE ingested_asset (
    id uuid PRIMARY KEY,
    organization_id uuid NOT NULL REFERENCES organization (id) ON DELETE CASCADE,
    url text NOT NULL,
    -- URLs can be longer than an index entry.
    url_sha256 bytea NOT NULL,
    blob_key text NOT NULL,
    content_type text NOT NULL,
    byte_size bigint NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL
);

CREATE INDEX ingested_asset_url ON ingested_asset (organization_id, url_sha256, expires_at DESC);
CREATE INDEX ingested_asset_expiry ON ingested_asset (expires_at);
