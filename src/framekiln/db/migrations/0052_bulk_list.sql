-- Bulks of an organization, newest first.

CREATE INDEX bulk_newest ON bulk (organization_id, created_at DESC, id);
