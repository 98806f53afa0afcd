-- Streamed uploads: videos that come as fragments, each verified when it arrives.

CREATE TABLE file_stream_track (
    file_id uuid NOT NULL REFERENCES file (id) ON DELETE CASCADE,
    track_id integer NOT NULL CHECK (track_id > 0),
    type text NOT NULL CHECK (type IN ('audio', 'video')),
    -- What the track is (ftyp and moov); null until it has come.
    init bytea,
    codec text,
    -- Ticks a second.
    timescale bigint,
    fragment_count integer NOT NULL DEFAULT 0,
    -- Init segment and fragments together.
    byte_size bigint NOT NULL DEFAULT 0,
    -- A chain over all that has come, see files/streams/model.py.
    sha256 bytea,
    -- Where the last fragment ends: in ticks as decoded, in milliseconds as shown.
    end_dts bigint,
    end_ms bigint,
    last_at timestamptz NOT NULL,
    PRIMARY KEY (file_id, track_id)
);

-- Fragments that have come, in order and without a gap. The rows stay when the file is ready.
CREATE TABLE file_fragment (
    file_id uuid NOT NULL,
    track_id integer NOT NULL,
    number integer NOT NULL CHECK (number >= 0),
    sha256 bytea NOT NULL,
    -- Its place in the track file.
    first_byte bigint NOT NULL,
    byte_size bigint NOT NULL CHECK (byte_size > 0),
    -- In ticks of the track, as decoded.
    dts bigint NOT NULL,
    duration bigint NOT NULL,
    -- As shown, from the beginning of the file.
    start_ms bigint NOT NULL,
    end_ms bigint NOT NULL,
    -- Where it is kept until the track file is made.
    blob_key text NOT NULL,
    PRIMARY KEY (file_id, track_id, number),
    FOREIGN KEY (file_id, track_id) REFERENCES file_stream_track (file_id, track_id)
        ON DELETE CASCADE
);

CREATE INDEX file_receiving ON file (created_at) WHERE status = 'receiving';
