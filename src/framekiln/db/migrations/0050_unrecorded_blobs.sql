-- Blobs that are stored under new keys, from before they are written until a row records them. What
-- is never recorded is deleted when it is due. A path that ends with / means all under it.
CREATE TABLE unrecorded_blob (
    path text PRIMARY KEY,
    delete_at timestamptz NOT NULL,
    -- Its deletion has begun. The row stays for a while, so that nothing records the blob any more.
    is_given_up boolean NOT NULL DEFAULT false
);
CREATE INDEX unrecorded_blob_due ON unrecorded_blob (is_given_up, delete_at);

CREATE FUNCTION record_blob(key text) RETURNS void AS $$
DECLARE
    is_too_late boolean;
BEGIN
    DELETE FROM unrecorded_blob WHERE path = key RETURNING is_given_up INTO is_too_late;
    IF is_too_late THEN
        RAISE EXCEPTION 'blob % is deleted: it was not recorded in time', key;
    END IF;
END
$$ LANGUAGE plpgsql;

-- In the transaction that records a blob, whoever writes the row. Not for the tracks of playback
-- sources: they are blobs of files and assets.
DO $$
DECLARE
    place text[];
BEGIN
    FOREACH place SLICE 1 IN ARRAY ARRAY[
        ['file', 'uploaded_index_key'],
        ['file_fragment', 'blob_key'],
        ['ingested_asset', 'blob_key'],
        ['kept_part', 'blob_key'],
        ['render', 'data_key'],
        ['render', 'output_key'],
        ['render', 'sound_key'],
        ['render', 'source_key'],
        ['render_slice', 'blob_key'],
        ['transcription', 'samples_key'],
        ['transcription', 'transcript_key'],
        ['transcription_slice', 'blob_key'],
        ['upload_part', 'blob_key']]
    LOOP
        EXECUTE format(
            'CREATE FUNCTION %1$s() RETURNS trigger AS $f$
            BEGIN
                PERFORM record_blob(NEW.%3$I);
                RETURN NULL;
            END
            $f$ LANGUAGE plpgsql;
            CREATE TRIGGER %1$s AFTER INSERT OR UPDATE OF %3$I ON %2$I
                FOR EACH ROW WHEN (NEW.%3$I IS NOT NULL) EXECUTE FUNCTION %1$s()',
            format('record_%s_%s', place[1], place[2]), place[1], place[2]);
    END LOOP;
END
$$;

-- The folder of a new render is registered before its composition is stored there.
CREATE FUNCTION record_render_folder() RETURNS trigger AS $$
BEGIN
    PERFORM record_blob(format('org/%s/renders/%s/', NEW.organization_id, NEW.id));
    RETURN NULL;
END
$$ LANGUAGE plpgsql;
CREATE TRIGGER record_render_folder AFTER INSERT ON render
    FOR EACH ROW EXECUTE FUNCTION record_render_folder();
