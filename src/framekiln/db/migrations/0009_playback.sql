-- Sources that players watch: looked at once, their segments made when somebody asks for them.

CREATE TABLE playback_source (
    id uuid PRIMARY KEY,
    organization_id uuid NOT NULL REFERENCES organization (id) ON DELETE CASCADE,
    -- What the caller named: an https address, or one of our files.
    address text NOT NULL,
    -- Addresses can be longer than an index entry.
    address_sha256 bytea NOT NULL,
    status text NOT NULL CHECK (status IN ('looking', 'ready', 'failed')),
    -- Where the tracks lie; the same key twice if they lie in one file.
    pictures_key text,
    sound_key text,
    outline jsonb,
    failure jsonb,
    created_at timestamptz NOT NULL,
    -- When it was last looked at or last failed, and until when it is as good as new.
    changed_at timestamptz NOT NULL,
    expires_at timestamptz,
    -- Coarse: moves every few minutes.
    used_at timestamptz NOT NULL,
    -- When somebody last made sure that its tracks are still there.
    checked_at timestamptz NOT NULL
);

CREATE INDEX playback_source_address
    ON playback_source (organization_id, address_sha256, created_at DESC);
CREATE INDEX playback_source_used ON playback_source (used_at);
CREATE INDEX playback_source_checked ON playback_source (checked_at);

CREATE TABLE playback_segment (
    source_id uuid NOT NULL REFERENCES playback_source (id) ON DELETE CASCADE,
    rendition text NOT NULL,
    number integer NOT NULL,
    made_at timestamptz NOT NULL,
    -- Null when it was made and is stored.
    failure jsonb,
    PRIMARY KEY (source_id, rendition, number)
);
