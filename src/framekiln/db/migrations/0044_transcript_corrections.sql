-- What people have corrected in the transcript of a track. It belongs to the track and not to one
-- transcription, so that it survives the next one.
CREATE TABLE transcript_correction (
    file_id uuid NOT NULL REFERENCES file (id) ON DELETE CASCADE,
    track_id integer NOT NULL,
    start_ms bigint NOT NULL CHECK (start_ms >= 0),
    end_ms bigint NOT NULL CHECK (end_ms > start_ms),
    organization_id uuid NOT NULL REFERENCES organization (id) ON DELETE CASCADE,
    -- What was recognized there when it was corrected.
    original_text text NOT NULL,
    corrected_text text NOT NULL,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (file_id, track_id, start_ms)
);

CREATE TRIGGER transcript_correction_activity AFTER INSERT OR DELETE OR UPDATE
    ON transcript_correction FOR EACH ROW EXECUTE FUNCTION notify_organization();
