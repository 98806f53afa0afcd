-- An index that came before some of the tracks it names: the file is ready when they have come.

CREATE TABLE file_waiting_index (
    file_id uuid PRIMARY KEY REFERENCES file (id) ON DELETE CASCADE,
    -- By the number of each track that had not come: how many bytes the index needs of it.
    needs jsonb NOT NULL,
    -- What the index says of the file.
    media_type text NOT NULL,
    width_px integer,
    height_px integer,
    duration_ms bigint NOT NULL
);

-- Nothing is left to be sent of files that came as tracks.
UPDATE file SET next_byte = byte_size
WHERE status = 'ready' AND NOT has_source AND byte_size IS NOT NULL;
