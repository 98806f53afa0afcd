-- When the last worker took a slice and finished it, and what scripts wrote to their console.
ALTER TABLE render_slice
    ADD COLUMN taken_at timestamptz,
    ADD COLUMN finished_at timestamptz,
    ADD COLUMN console jsonb NOT NULL DEFAULT '[]';
