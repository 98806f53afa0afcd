-- Reviewers, invitations, and keys that belong to somebody and can get a new secret.

ALTER TABLE membership DROP CONSTRAINT membership_role_check;
ALTER TABLE membership ADD CONSTRAINT membership_role_check
    CHECK (role IN ('owner', 'member', 'reviewer'));

-- token_hash is the SHA-256 of what stands in the link, in hex. A row ends with its acceptance.
CREATE TABLE invitation (
    id uuid PRIMARY KEY,
    organization_id uuid NOT NULL REFERENCES organization (id) ON DELETE CASCADE,
    email text NOT NULL,
    role text NOT NULL CHECK (role IN ('owner', 'member', 'reviewer')),
    token_hash text NOT NULL UNIQUE,
    invited_by text,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    UNIQUE (organization_id, email)
);

CREATE INDEX invitation_expires ON invitation (expires_at);

-- user_id is who made the key in the studio; none for keys of the command line. After a rotation
-- the secret before works until previous_until.
ALTER TABLE api_key
    ADD COLUMN user_id uuid REFERENCES user_account (id) ON DELETE SET NULL,
    ADD COLUMN previous_hash text,
    ADD COLUMN previous_until timestamptz;

CREATE INDEX api_key_user ON api_key (user_id) WHERE user_id IS NOT NULL;
