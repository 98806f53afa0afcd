-- What was filmed is kept for the next film that shows the same: slices, sounds, whole films.

-- By digest of all that decides the bytes. A row may be there before its blob, never after it.
CREATE TABLE kept_part (
    organization_id uuid NOT NULL REFERENCES organization (id) ON DELETE CASCADE,
    digest text NOT NULL,
    blob_key text NOT NULL,
    byte_size bigint NOT NULL,
    record jsonb NOT NULL,
    used_at timestamptz NOT NULL,
    PRIMARY KEY (organization_id, digest)
);

CREATE INDEX kept_part_use ON kept_part (used_at);

-- What a slice is made of, as planned; null where equal ones cannot be told.
ALTER TABLE render_slice ADD COLUMN digest text;

-- What the mixed sound and the whole film were made of; null likewise.
ALTER TABLE render ADD COLUMN sound_digest text;
ALTER TABLE render ADD COLUMN film_digest text;

CREATE INDEX render_film_digest ON render (organization_id, film_digest)
    WHERE film_digest IS NOT NULL;
