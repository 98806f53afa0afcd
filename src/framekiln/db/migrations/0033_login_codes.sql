-- Codes of links that log a user in once, without a password; only their hashes are stored.
CREATE TABLE login_code (
    code_hash text PRIMARY KEY,
    user_id uuid NOT NULL REFERENCES user_account (id) ON DELETE CASCADE,
    expires_at timestamptz NOT NULL
);

CREATE INDEX login_code_expires ON login_code (expires_at);
