-- Callbacks: one receiver for one thing, named when that is asked for. Each address is a
-- subscription to nothing, so that its deliveries go the way of all others.

ALTER TABLE webhook_subscription ADD COLUMN is_callback boolean NOT NULL DEFAULT false;

-- The sum, because an address may be longer than an index takes.
CREATE UNIQUE INDEX webhook_subscription_callback
    ON webhook_subscription (organization_id, md5(url)) WHERE is_callback;

-- What signs all callbacks of an organization; each of their subscriptions has a copy.
CREATE TABLE webhook_callback_secret (
    organization_id uuid PRIMARY KEY REFERENCES organization (id) ON DELETE CASCADE,
    secret text NOT NULL,
    previous_secret text,
    previous_secret_until timestamptz
);
