-- Where outputs of renders are copied to.
CREATE TABLE destination (
    id uuid PRIMARY KEY,
    position bigint GENERATED ALWAYS AS IDENTITY,
    organization_id uuid NOT NULL REFERENCES organization (id) ON DELETE CASCADE,
    api_key_id uuid REFERENCES api_key (id) ON DELETE SET NULL,
    render_id uuid NOT NULL REFERENCES render (id) ON DELETE CASCADE,
    -- The id of the render or of the video that the owner asked for.
    resource_id text NOT NULL,
    type text NOT NULL,
    -- Without credentials.
    address text NOT NULL,
    -- Settings with credentials; empty when the copy has ended.
    encrypted bytea NOT NULL,
    status text NOT NULL,
    -- Only the last attempt may record its result.
    attempts integer NOT NULL DEFAULT 0,
    error_code text,
    error_message text,
    byte_size bigint,
    created_at timestamptz NOT NULL,
    completed_at timestamptz
);

CREATE INDEX destination_resource ON destination (organization_id, resource_id);
CREATE INDEX destination_render ON destination (render_id);
CREATE INDEX destination_api_key ON destination (api_key_id);
