-- What organizations use of their quotas.

-- Of what is limited for a time, by the hour: rows of renders and downloads may be deleted.
CREATE TABLE organization_usage (
    organization_id uuid NOT NULL REFERENCES organization (id) ON DELETE CASCADE,
    name text NOT NULL,
    hour timestamptz NOT NULL,
    -- Bytes, or milliseconds of film.
    amount bigint NOT NULL,
    PRIMARY KEY (organization_id, name, hour)
);

CREATE INDEX organization_usage_hour ON organization_usage (hour);

-- The stored bytes of an organization are the sum of its rows here. Triggers add a row for each
-- change, in the same transaction; nobody waits for anybody, as with one counter. From time to time
-- many rows are replaced with their sum. Caches are not counted: they are ours.
CREATE TABLE stored_change (
    organization_id uuid NOT NULL,
    byte_count bigint NOT NULL
);

CREATE INDEX stored_change_organization ON stored_change (organization_id) INCLUDE (byte_count);

CREATE FUNCTION stored_on_row() RETURNS trigger AS $$
DECLARE
    change bigint := 0;
BEGIN
    IF TG_OP <> 'INSERT' THEN
        change := change - coalesce(OLD.byte_size, 0);
    END IF;
    IF TG_OP <> 'DELETE' THEN
        change := change + coalesce(NEW.byte_size, 0);
    END IF;
    IF change <> 0 THEN
        INSERT INTO stored_change VALUES (
            CASE WHEN TG_OP = 'DELETE' THEN OLD.organization_id ELSE NEW.organization_id END, change
        );
    END IF;
    RETURN NULL;
END
$$ LANGUAGE plpgsql;

CREATE TRIGGER render_stored AFTER INSERT OR UPDATE OF byte_size OR DELETE ON render
    FOR EACH ROW EXECUTE FUNCTION stored_on_row();
CREATE TRIGGER ingested_asset_stored AFTER INSERT OR UPDATE OF byte_size OR DELETE
    ON ingested_asset FOR EACH ROW EXECUTE FUNCTION stored_on_row();

CREATE FUNCTION stored_on_file() RETURNS trigger AS $$
DECLARE
    tracks bigint;
    change bigint := 0;
BEGIN
    SELECT coalesce(sum(byte_size), 0) INTO tracks FROM file_track
    WHERE file_id = CASE WHEN TG_OP = 'INSERT' THEN NEW.id ELSE OLD.id END;
    IF TG_OP <> 'INSERT' AND OLD.content_removed_at IS NULL THEN
        change := change - coalesce(OLD.byte_size, 0) - tracks;
    END IF;
    IF TG_OP <> 'DELETE' AND NEW.content_removed_at IS NULL THEN
        change := change + coalesce(NEW.byte_size, 0) + tracks;
    END IF;
    IF change <> 0 THEN
        INSERT INTO stored_change VALUES (
            CASE WHEN TG_OP = 'DELETE' THEN OLD.organization_id ELSE NEW.organization_id END, change
        );
    END IF;
    RETURN CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END;
END
$$ LANGUAGE plpgsql;

CREATE TRIGGER file_stored AFTER INSERT OR UPDATE OF byte_size, content_removed_at ON file
    FOR EACH ROW EXECUTE FUNCTION stored_on_file();
-- Before, while its tracks are there.
CREATE TRIGGER file_removed BEFORE DELETE ON file
    FOR EACH ROW EXECUTE FUNCTION stored_on_file();

CREATE FUNCTION stored_on_track() RETURNS trigger AS $$
DECLARE
    change bigint := 0;
BEGIN
    IF TG_OP <> 'INSERT' THEN
        change := change - OLD.byte_size;
    END IF;
    IF TG_OP <> 'DELETE' THEN
        change := change + NEW.byte_size;
    END IF;
    -- A file that is gone, or whose content is, has taken its tracks into account.
    INSERT INTO stored_change
    SELECT organization_id, change FROM file
    WHERE id = CASE WHEN TG_OP = 'DELETE' THEN OLD.file_id ELSE NEW.file_id END
      AND content_removed_at IS NULL AND change <> 0;
    RETURN NULL;
END
$$ LANGUAGE plpgsql;

CREATE TRIGGER file_track_stored AFTER INSERT OR UPDATE OF byte_size OR DELETE ON file_track
    FOR EACH ROW EXECUTE FUNCTION stored_on_track();

INSERT INTO stored_change
SELECT organization_id, sum(byte_size) FROM (
    SELECT organization_id, byte_size FROM file WHERE content_removed_at IS NULL
    UNION ALL
    SELECT file.organization_id, track.byte_size
    FROM file JOIN file_track AS track ON track.file_id = file.id
    WHERE file.content_removed_at IS NULL
    UNION ALL
    SELECT organization_id, byte_size FROM render
    UNION ALL
    SELECT organization_id, byte_size FROM ingested_asset
) AS stored
WHERE byte_size IS NOT NULL GROUP BY organization_id;
