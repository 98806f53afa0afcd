-- Destinations of templates and bulks: their videos are copied there.
CREATE TABLE stored_destination (
    id uuid PRIMARY KEY,
    position bigint GENERATED ALWAYS AS IDENTITY,
    organization_id uuid NOT NULL REFERENCES organization (id) ON DELETE CASCADE,
    template_id text REFERENCES template (id) ON DELETE CASCADE,
    bulk_id text REFERENCES bulk (id) ON DELETE CASCADE,
    type text NOT NULL,
    -- Without credentials; may contain `{id}`.
    address text NOT NULL,
    -- Settings with credentials.
    encrypted bytea NOT NULL,
    CHECK (num_nonnulls(template_id, bulk_id) = 1)
);

CREATE INDEX stored_destination_template ON stored_destination (template_id)
    WHERE template_id IS NOT NULL;
CREATE INDEX stored_destination_bulk ON stored_destination (bulk_id) WHERE bulk_id IS NOT NULL;
