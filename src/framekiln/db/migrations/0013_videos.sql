-- Templates and videos (v2). A video is made by a render whose composition is a layer config.

-- What a composition is: html, bundle, layers. is_bundle says the same for the first two.
ALTER TABLE render ADD COLUMN source_kind text NOT NULL DEFAULT 'html';
UPDATE render SET source_kind = 'bundle' WHERE is_bundle;
ALTER TABLE render ADD COLUMN source_digest text;

-- json, not jsonb: kept as it came, down to the order of its names.
CREATE TABLE template (
    id text PRIMARY KEY,
    organization_id uuid NOT NULL REFERENCES organization (id) ON DELETE CASCADE,
    api_key_id uuid REFERENCES api_key (id) ON DELETE SET NULL,
    name text NOT NULL,
    config json NOT NULL,
    inputs json NOT NULL,
    default_values json NOT NULL,
    created_at timestamptz NOT NULL
);

CREATE INDEX template_organization ON template (organization_id, created_at DESC, id);

-- Several videos may share a render: those that were asked for in the same words.
CREATE TABLE video (
    id text PRIMARY KEY,
    organization_id uuid NOT NULL REFERENCES organization (id) ON DELETE CASCADE,
    api_key_id uuid REFERENCES api_key (id) ON DELETE SET NULL,
    render_id uuid NOT NULL REFERENCES render (id) ON DELETE CASCADE,
    template_id text REFERENCES template (id) ON DELETE SET NULL,
    -- The config in its normal form, and the digest of what it looks and sounds like.
    config json NOT NULL,
    digest text NOT NULL,
    metadata json NOT NULL,
    warnings json NOT NULL,
    created_at timestamptz NOT NULL
);

CREATE INDEX video_organization ON video (organization_id, created_at DESC, id);
CREATE INDEX video_digest ON video (organization_id, digest, created_at DESC);
CREATE INDEX video_render ON video (render_id);
CREATE INDEX video_template ON video (template_id) WHERE template_id IS NOT NULL;
