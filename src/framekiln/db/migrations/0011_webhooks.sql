-- Webhooks: who wants to be told, what happened, and how the telling went.

-- api_key_id null: of everything in the organization. Secrets are kept as they are: they sign.
CREATE TABLE webhook_subscription (
    id uuid PRIMARY KEY,
    organization_id uuid NOT NULL REFERENCES organization (id) ON DELETE CASCADE,
    api_key_id uuid REFERENCES api_key (id) ON DELETE CASCADE,
    url text NOT NULL,
    events text[] NOT NULL,
    secret text NOT NULL,
    previous_secret text,
    previous_secret_until timestamptz,
    state text NOT NULL DEFAULT 'active' CHECK (state IN ('active', 'paused')),
    reason text,
    -- Since when every attempt has failed; null after one that did not.
    failing_since timestamptz,
    -- Whether an attempt has succeeded at this address, since it was last given or resumed.
    is_proven boolean NOT NULL DEFAULT false,
    last_delivered_at timestamptz,
    last_attempt_at timestamptz,
    created_at timestamptz NOT NULL
);

CREATE INDEX webhook_subscription_organization
    ON webhook_subscription (organization_id, created_at);
CREATE INDEX webhook_subscription_key ON webhook_subscription (api_key_id);

-- body is what is sent, byte for byte, however often.
CREATE TABLE webhook_event (
    id uuid PRIMARY KEY,
    organization_id uuid NOT NULL REFERENCES organization (id) ON DELETE CASCADE,
    topic text NOT NULL,
    resource_id text NOT NULL,
    body text NOT NULL,
    created_at timestamptz NOT NULL
);

CREATE INDEX webhook_event_organization ON webhook_event (organization_id);
CREATE INDEX webhook_event_age ON webhook_event (created_at);

-- Deliveries of one subscription and resource are a line, in the order of their position; the
-- first open one is its head.
CREATE TABLE webhook_delivery (
    id uuid PRIMARY KEY,
    position bigint GENERATED ALWAYS AS IDENTITY,
    subscription_id uuid NOT NULL REFERENCES webhook_subscription (id) ON DELETE CASCADE,
    event_id uuid NOT NULL REFERENCES webhook_event (id) ON DELETE CASCADE,
    resource_id text NOT NULL,
    status text NOT NULL DEFAULT 'pending'
        CHECK (status IN ('pending', 'sending', 'delivered', 'failed')),
    -- Pending: when to send it, null while another is ahead in the line. Sending: when its worker
    -- is taken for dead.
    due_at timestamptz,
    -- Attempts since it last began anew; the delay before the next one follows from them.
    tries integer NOT NULL DEFAULT 0,
    -- Counts the workers that took it on; only the last one may write.
    fence integer NOT NULL DEFAULT 0,
    -- The job whose worker has it: when that job runs again, its worker has died.
    taken_by bigint,
    redelivery_of uuid,
    created_at timestamptz NOT NULL,
    ended_at timestamptz
);

CREATE INDEX webhook_delivery_line ON webhook_delivery (subscription_id, resource_id, position)
    WHERE status IN ('pending', 'sending');
CREATE INDEX webhook_delivery_due ON webhook_delivery (subscription_id, due_at, position)
    WHERE status = 'pending' AND due_at IS NOT NULL;
CREATE INDEX webhook_delivery_sending ON webhook_delivery (subscription_id, due_at)
    WHERE status = 'sending';
CREATE INDEX webhook_delivery_log ON webhook_delivery (subscription_id, position DESC);
CREATE INDEX webhook_delivery_event ON webhook_delivery (event_id);
CREATE INDEX webhook_delivery_ended ON webhook_delivery (ended_at) WHERE ended_at IS NOT NULL;

-- status null: there was no answer, and error says why. answer is the beginning of its text.
CREATE TABLE webhook_attempt (
    delivery_id uuid NOT NULL REFERENCES webhook_delivery (id) ON DELETE CASCADE,
    number integer NOT NULL,
    url text NOT NULL,
    started_at timestamptz NOT NULL,
    duration_ms integer NOT NULL,
    status integer,
    error text,
    answer text,
    PRIMARY KEY (delivery_id, number)
);
