-- Counts of failed logins, by e-mail address and by where they come from: a network or a known
-- browser. The counts of the table before this one lived for minutes only, so they are dropped.
DROP TABLE login_attempt;

CREATE TABLE login_attempt (
    email text NOT NULL,
    source text NOT NULL,
    attempts integer NOT NULL,
    last_at timestamptz NOT NULL,
    PRIMARY KEY (email, source)
);

CREATE INDEX login_attempt_source ON login_attempt (source);
CREATE INDEX login_attempt_last ON login_attempt (last_at);
