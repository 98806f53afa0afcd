-- Wakes the dashboards of an organization when one of its resources appears, changes its status or
-- is deleted. Triggers, so that no statement can forget it; progress alone does not wake anybody.
CREATE FUNCTION notify_organization() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('framekiln', 'organization:' || COALESCE(NEW.organization_id, OLD.organization_id));
    RETURN NULL;
END
$$;

CREATE TRIGGER render_activity AFTER INSERT OR DELETE OR UPDATE OF status ON render
    FOR EACH ROW EXECUTE FUNCTION notify_organization();
CREATE TRIGGER file_activity AFTER INSERT OR DELETE OR UPDATE OF status ON file
    FOR EACH ROW EXECUTE FUNCTION notify_organization();
CREATE TRIGGER transcription_activity AFTER INSERT OR DELETE OR UPDATE OF status ON transcription
    FOR EACH ROW EXECUTE FUNCTION notify_organization();
CREATE TRIGGER pipeline_run_activity AFTER INSERT OR DELETE OR UPDATE OF status ON pipeline_run
    FOR EACH ROW EXECUTE FUNCTION notify_organization();
