-- Links that a user made with a session end with the membership, like sessions.
ALTER TABLE link ADD COLUMN user_id uuid;
ALTER TABLE link ADD CONSTRAINT link_member FOREIGN KEY (user_id, organization_id)
    REFERENCES membership (user_id, organization_id) ON DELETE CASCADE;

CREATE INDEX link_user ON link (user_id, organization_id) WHERE user_id IS NOT NULL;
