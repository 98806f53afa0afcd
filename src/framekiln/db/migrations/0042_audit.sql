-- Who changed what. Rows are added in the transaction of the change, and are never changed.
CREATE TABLE audit_event (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    organization_id uuid NOT NULL REFERENCES organization (id) ON DELETE CASCADE,
    happened_at timestamptz NOT NULL,
    actor_type text NOT NULL,
    -- As text: the rows outlive users, keys and resources.
    actor_id text,
    actor_name text,
    address text,
    action text NOT NULL,
    resource text,
    details jsonb NOT NULL
);

CREATE INDEX audit_event_organization ON audit_event (organization_id, id DESC);
CREATE INDEX audit_event_action ON audit_event (organization_id, action text_pattern_ops, id DESC);
CREATE INDEX audit_event_time ON audit_event (happened_at);

CREATE FUNCTION refuse_audit_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'rows of audit_event are never changed';
END
$$;

CREATE TRIGGER audit_event_fixed BEFORE UPDATE ON audit_event
    FOR EACH ROW EXECUTE FUNCTION refuse_audit_change();
