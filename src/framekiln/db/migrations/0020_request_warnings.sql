-- What was noticed about the request of a render, such as fields that have no effect.

ALTER TABLE render ADD COLUMN request_warnings jsonb NOT NULL DEFAULT '[]';
