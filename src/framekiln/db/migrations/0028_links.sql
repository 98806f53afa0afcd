-- Signed links to media of an organization.
CREATE TABLE link (
    id uuid PRIMARY KEY,
    position bigint GENERATED ALWAYS AS IDENTITY,
    organization_id uuid NOT NULL REFERENCES organization (id) ON DELETE CASCADE,
    -- The key that the link depends on; null when it depends on the organization alone.
    api_key_id uuid REFERENCES api_key (id) ON DELETE CASCADE,
    -- The path that the link leads to, decoded, and its query: name to values.
    segments text[] NOT NULL,
    params jsonb NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    revoked_at timestamptz
);

CREATE INDEX link_organization ON link (organization_id, position);
CREATE INDEX link_valid ON link (organization_id, expires_at) WHERE revoked_at IS NULL;
CREATE INDEX link_expires ON link (expires_at);
CREATE INDEX link_api_key ON link (api_key_id);
