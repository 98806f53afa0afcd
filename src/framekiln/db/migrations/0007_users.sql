-- People who log in, their sessions, and the secrets that sign tokens.

-- email is in lower case. password_hash is argon2's own text, parameters included.
CREATE TABLE user_account (
    id uuid PRIMARY KEY,
    email text NOT NULL UNIQUE,
    password_hash text NOT NULL,
    created_at timestamptz NOT NULL
);

CREATE TABLE membership (
    user_id uuid NOT NULL REFERENCES user_account (id) ON DELETE CASCADE,
    organization_id uuid NOT NULL REFERENCES organization (id) ON DELETE CASCADE,
    role text NOT NULL CHECK (role IN ('owner', 'member')),
    created_at timestamptz NOT NULL,
    PRIMARY KEY (user_id, organization_id)
);

CREATE INDEX membership_organization ON membership (organization_id);

-- The token itself is nowhere: token_hash is its SHA-256, in hex. A session ends with its membership.
CREATE TABLE login_session (
    token_hash text PRIMARY KEY,
    user_id uuid NOT NULL,
    organization_id uuid NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    FOREIGN KEY (user_id, organization_id)
        REFERENCES membership (user_id, organization_id) ON DELETE CASCADE
);

CREATE INDEX login_session_member ON login_session (user_id, organization_id);
CREATE INDEX login_session_expiry ON login_session (expires_at);

-- Logins tried since the last that went well, also for addresses that nobody has.
CREATE TABLE login_attempt (
    email text PRIMARY KEY,
    attempts integer NOT NULL,
    since timestamptz NOT NULL
);

CREATE INDEX login_attempt_since ON login_attempt (since);

-- Used when the settings name no secrets. The newest signs, all verify.
CREATE TABLE signing_key (
    id text PRIMARY KEY,
    secret bytea NOT NULL,
    created_at timestamptz NOT NULL
);
