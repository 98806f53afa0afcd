-- Organizations and their API keys.

CREATE TABLE organization (
    id uuid PRIMARY KEY,
    name text NOT NULL UNIQUE,
    pipelines_enabled boolean NOT NULL,
    created_at timestamptz NOT NULL
);

-- key_id is the public half of the key's text. The secret half is nowhere: key_hash is the
-- SHA-256 of the whole text, in hex.
CREATE TABLE api_key (
    id uuid PRIMARY KEY,
    organization_id uuid NOT NULL REFERENCES organization (id) ON DELETE CASCADE,
    name text NOT NULL,
    key_id text NOT NULL UNIQUE,
    key_hash text NOT NULL,
    created_at timestamptz NOT NULL,
    last_used_at timestamptz,
    revoked_at timestamptz
);

CREATE INDEX api_key_organization ON api_key (organization_id, created_at);
