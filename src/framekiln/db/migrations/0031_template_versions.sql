-- Each update of a template makes a version; the row in `template` has the newest one.

CREATE TABLE template_version (
    template_id text NOT NULL REFERENCES template (id) ON DELETE CASCADE,
    number integer NOT NULL CHECK (number >= 1),
    api_key_id uuid REFERENCES api_key (id) ON DELETE SET NULL,
    name text NOT NULL,
    config json NOT NULL,
    inputs json NOT NULL,
    default_values json NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (template_id, number)
);

ALTER TABLE template ADD COLUMN version integer NOT NULL DEFAULT 1;
INSERT INTO template_version
SELECT id, 1, api_key_id, name, config, inputs, default_values, created_at FROM template;

-- Null for videos that were not made from a template.
ALTER TABLE video ADD COLUMN template_version integer;
UPDATE video SET template_version = 1 WHERE template_id IS NOT NULL;
