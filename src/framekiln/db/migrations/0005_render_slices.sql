-- A render is planned, cut into slices that any worker makes, given its sound, and joined.

-- What the page said it is, once it was planned; the sound is made beside the pictures.
ALTER TABLE render ADD COLUMN plan jsonb;
ALTER TABLE render ADD COLUMN sound_key text;
ALTER TABLE render ADD COLUMN slice_ms integer NOT NULL DEFAULT 4000;

CREATE TABLE render_slice (
    render_id uuid NOT NULL REFERENCES render (id) ON DELETE CASCADE,
    number integer NOT NULL,
    first_frame integer NOT NULL,
    frame_count integer NOT NULL,
    status text NOT NULL DEFAULT 'todo' CHECK (status IN ('todo', 'taken', 'done')),
    -- Counts the workers that took this slice on; only the last one may write.
    fence integer NOT NULL DEFAULT 0,
    -- The job whose worker has it: when that job runs again, its worker has died.
    taken_by bigint,
    blob_key text,
    record jsonb,
    PRIMARY KEY (render_id, number)
);

-- Written several times a second and worth nothing after a crash.
DROP TABLE render_progress;
CREATE UNLOGGED TABLE render_slice_progress (
    render_id uuid NOT NULL REFERENCES render (id) ON DELETE CASCADE,
    number integer NOT NULL,
    frames_done integer NOT NULL,
    PRIMARY KEY (render_id, number)
);

-- What the output is to be, as it was asked for; and whether the composition is a bundle.
ALTER TABLE render ADD COLUMN output jsonb NOT NULL DEFAULT '{"container": "mp4"}';
ALTER TABLE render ADD COLUMN is_bundle boolean NOT NULL DEFAULT false;

-- md5 sums come with and without dashes, in both cases.
DROP INDEX render_md5;
CREATE INDEX render_md5 ON render (organization_id, replace(lower(md5), '-', ''), created_at DESC)
    WHERE md5 IS NOT NULL;
CREATE INDEX render_expiry ON render (expires_at) WHERE expires_at IS NOT NULL;
