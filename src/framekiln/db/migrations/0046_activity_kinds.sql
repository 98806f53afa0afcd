-- Says what has changed: dashboards that show something else need not read it again.
CREATE OR REPLACE FUNCTION notify_organization() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('framekiln', 'organization:'
        || COALESCE(NEW.organization_id, OLD.organization_id) || ':' || TG_TABLE_NAME);
    RETURN NULL;
END
$$;

-- Pages of renders are read in the order of this index, wherever they begin.
CREATE INDEX render_newest ON render (organization_id, created_at DESC, id DESC);
DROP INDEX render_organization;
