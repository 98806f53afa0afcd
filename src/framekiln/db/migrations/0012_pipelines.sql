-- Pipelines: definitions in versions, endpoints, runs over files, what they leave behind.
-- Whoever changes anything of a run holds the row of the run.

CREATE TABLE pipeline (
    id uuid PRIMARY KEY,
    position bigint GENERATED ALWAYS AS IDENTITY,
    organization_id uuid NOT NULL REFERENCES organization (id) ON DELETE CASCADE,
    name text NOT NULL,
    created_at timestamptz NOT NULL,
    archived_at timestamptz
);

CREATE UNIQUE INDEX pipeline_name ON pipeline (organization_id, name) WHERE archived_at IS NULL;
CREATE INDEX pipeline_list ON pipeline (organization_id, position DESC);

-- definition is in its normal form. json, not jsonb: it is given back as it was written.
CREATE TABLE pipeline_version (
    pipeline_id uuid NOT NULL REFERENCES pipeline (id) ON DELETE CASCADE,
    number integer NOT NULL CHECK (number > 0),
    digest text NOT NULL,
    definition json NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (pipeline_id, number),
    UNIQUE (pipeline_id, digest)
);

-- The secret is kept as it is: it signs.
CREATE TABLE pipeline_endpoint (
    id uuid PRIMARY KEY,
    position bigint GENERATED ALWAYS AS IDENTITY,
    organization_id uuid NOT NULL REFERENCES organization (id) ON DELETE CASCADE,
    url text NOT NULL,
    headers json NOT NULL,
    timeout_ms bigint NOT NULL,
    callback_timeout_ms bigint NOT NULL,
    max_concurrency integer NOT NULL,
    signing_secret text NOT NULL,
    created_at timestamptz NOT NULL,
    archived_at timestamptz
);

CREATE INDEX pipeline_endpoint_list ON pipeline_endpoint (organization_id, position DESC);

CREATE TABLE pipeline_batch (
    id uuid PRIMARY KEY,
    position bigint GENERATED ALWAYS AS IDENTITY,
    organization_id uuid NOT NULL REFERENCES organization (id) ON DELETE CASCADE,
    api_key_id uuid REFERENCES api_key (id) ON DELETE SET NULL,
    pipeline_id uuid NOT NULL,
    pipeline_version integer NOT NULL,
    max_in_flight integer NOT NULL,
    idempotency_key text,
    request_digest text NOT NULL,
    created_at timestamptz NOT NULL,
    completed_at timestamptz,
    FOREIGN KEY (pipeline_id, pipeline_version) REFERENCES pipeline_version (pipeline_id, number)
        ON DELETE CASCADE
);

CREATE UNIQUE INDEX pipeline_batch_key ON pipeline_batch (organization_id, idempotency_key)
    WHERE idempotency_key IS NOT NULL;
CREATE INDEX pipeline_batch_list ON pipeline_batch (organization_id, position DESC);

-- file_id references nothing: a run outlives its file.
CREATE TABLE pipeline_run (
    id uuid PRIMARY KEY,
    position bigint GENERATED ALWAYS AS IDENTITY,
    organization_id uuid NOT NULL REFERENCES organization (id) ON DELETE CASCADE,
    api_key_id uuid REFERENCES api_key (id) ON DELETE SET NULL,
    pipeline_id uuid NOT NULL,
    pipeline_version integer NOT NULL,
    file_id uuid NOT NULL,
    batch_id uuid REFERENCES pipeline_batch (id) ON DELETE CASCADE,
    external_id text,
    status text NOT NULL CHECK (status IN
        ('pending', 'running', 'succeeded', 'failed', 'filtered', 'cancelled')),
    -- Whether its batch lets it begin.
    is_admitted boolean NOT NULL,
    -- Counts its events.
    sequence bigint NOT NULL DEFAULT 0,
    error_code text,
    error_message text,
    error_step_key text,
    idempotency_key text,
    request_digest text NOT NULL,
    cancel_requested_at timestamptz,
    created_at timestamptz NOT NULL,
    started_at timestamptz,
    completed_at timestamptz,
    FOREIGN KEY (pipeline_id, pipeline_version) REFERENCES pipeline_version (pipeline_id, number)
        ON DELETE CASCADE
);

CREATE UNIQUE INDEX pipeline_run_key ON pipeline_run (organization_id, idempotency_key)
    WHERE idempotency_key IS NOT NULL;
CREATE INDEX pipeline_run_list ON pipeline_run (organization_id, position DESC);
CREATE INDEX pipeline_run_by_status ON pipeline_run (organization_id, status, position DESC);
CREATE INDEX pipeline_run_by_pipeline ON pipeline_run (pipeline_id, position DESC);
CREATE INDEX pipeline_run_by_file ON pipeline_run (file_id, position DESC);
CREATE INDEX pipeline_run_by_batch ON pipeline_run (batch_id, status, position)
    WHERE batch_id IS NOT NULL;
-- Those that a change of their file matters to.
CREATE INDEX pipeline_run_open ON pipeline_run (file_id) WHERE status IN ('pending', 'running');
-- However many wait, the next one of a batch is the first here.
CREATE INDEX pipeline_run_waiting ON pipeline_run (batch_id, position)
    WHERE status = 'pending' AND NOT is_admitted;
CREATE INDEX pipeline_run_in_flight ON pipeline_run (batch_id)
    WHERE status IN ('pending', 'running') AND is_admitted AND batch_id IS NOT NULL;

-- A step of a run. What windows have as well means the same there.
CREATE TABLE pipeline_step_run (
    id uuid PRIMARY KEY,
    run_id uuid NOT NULL REFERENCES pipeline_run (id) ON DELETE CASCADE,
    step_key text NOT NULL,
    status text NOT NULL,
    -- Attempts begun, and how many of them before the run was last retried.
    attempt integer NOT NULL DEFAULT 0,
    attempts_before integer NOT NULL DEFAULT 0,
    -- Counts all who took it on; only the last one may write.
    fence integer NOT NULL DEFAULT 0,
    -- Who took this attempt on: so many, and the last by this job. Null: nobody is at it now.
    takes integer NOT NULL DEFAULT 0,
    taken_by bigint,
    -- When it is to be queued (again); null when it is queued, or need not be.
    due_at timestamptz,
    -- What its runner wants to know when it is asked again.
    note json,
    error_code text,
    error_message text,
    watermark_ms bigint,
    has_all_windows boolean NOT NULL DEFAULT false,
    ready_at timestamptz,
    started_at timestamptz,
    completed_at timestamptz,
    deadline_at timestamptz,
    -- When progress was last told to webhooks.
    told_at timestamptz,
    UNIQUE (run_id, step_key)
);

CREATE INDEX pipeline_step_run_due ON pipeline_step_run (due_at)
    WHERE due_at IS NOT NULL AND status IN ('ready', 'running');

CREATE TABLE pipeline_window (
    step_run_id uuid NOT NULL REFERENCES pipeline_step_run (id) ON DELETE CASCADE,
    number integer NOT NULL,
    start_ms bigint NOT NULL,
    end_ms bigint NOT NULL,
    overlap_ms bigint NOT NULL,
    status text NOT NULL,
    attempt integer NOT NULL DEFAULT 0,
    attempts_before integer NOT NULL DEFAULT 0,
    fence integer NOT NULL DEFAULT 0,
    takes integer NOT NULL DEFAULT 0,
    taken_by bigint,
    due_at timestamptz,
    note json,
    error_code text,
    error_message text,
    PRIMARY KEY (step_run_id, number)
);

-- What lies above the watermark of a step.
CREATE INDEX pipeline_window_end ON pipeline_window (step_run_id, end_ms);
CREATE INDEX pipeline_window_due ON pipeline_window (due_at)
    WHERE due_at IS NOT NULL AND status IN ('ready', 'running');

-- One attempt of an endpoint step: a request, and perhaps a callback.
CREATE TABLE pipeline_attempt (
    id uuid PRIMARY KEY,
    position bigint GENERATED ALWAYS AS IDENTITY,
    run_id uuid NOT NULL REFERENCES pipeline_run (id) ON DELETE CASCADE,
    step_run_id uuid NOT NULL REFERENCES pipeline_step_run (id) ON DELETE CASCADE,
    -- Null for a whole-file step.
    window_number integer,
    endpoint_id uuid NOT NULL REFERENCES pipeline_endpoint (id) ON DELETE CASCADE,
    -- What shares the step's own limit: the same step of all runs of a version.
    pipeline_id uuid NOT NULL,
    pipeline_version integer NOT NULL,
    step_key text NOT NULL,
    step_max_concurrency integer NOT NULL,
    number integer NOT NULL,
    state text NOT NULL DEFAULT 'waiting'
        CHECK (state IN ('waiting', 'sending', 'awaiting_callback', 'done')),
    -- The fence of its step or window while it is under way.
    fence integer,
    -- The job whose worker sends it.
    taken_by bigint,
    idempotency_key text NOT NULL,
    -- SHA-256 of the id in the callback's address.
    callback_hash bytea UNIQUE,
    -- A callback that came before the answer to the request.
    early_callback json,
    -- Waiting: not before then. Sending and awaiting a callback: when it is taken for lost.
    due_at timestamptz NOT NULL,
    created_at timestamptz NOT NULL,
    sent_at timestamptz,
    ended_at timestamptz
);

-- By step: those of one that is full must not be gone through to find those of another.
CREATE INDEX pipeline_attempt_waiting ON pipeline_attempt
    (endpoint_id, pipeline_id, pipeline_version, step_key, position) WHERE state = 'waiting';
CREATE INDEX pipeline_attempt_sending ON pipeline_attempt (endpoint_id) WHERE state = 'sending';
CREATE INDEX pipeline_attempt_due ON pipeline_attempt (due_at)
    WHERE state IN ('sending', 'awaiting_callback');
CREATE INDEX pipeline_attempt_of_step ON pipeline_attempt (step_run_id, window_number);

CREATE TABLE pipeline_review (
    id uuid PRIMARY KEY,
    position bigint GENERATED ALWAYS AS IDENTITY,
    organization_id uuid NOT NULL REFERENCES organization (id) ON DELETE CASCADE,
    run_id uuid NOT NULL REFERENCES pipeline_run (id) ON DELETE CASCADE,
    step_run_id uuid NOT NULL REFERENCES pipeline_step_run (id) ON DELETE CASCADE,
    step_key text NOT NULL,
    attempt integer NOT NULL,
    status text NOT NULL DEFAULT 'pending'
        CHECK (status IN ('pending', 'approved', 'rejected', 'expired', 'cancelled')),
    instructions text,
    input_namespaces text[] NOT NULL,
    on_expiry text NOT NULL,
    -- An API key or a user.
    decided_by_type text,
    decided_by_id uuid,
    reason text,
    -- {kinds, annotations}; null when nothing was corrected.
    correction json,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    decided_at timestamptz
);

CREATE INDEX pipeline_review_list ON pipeline_review (organization_id, position DESC);
CREATE INDEX pipeline_review_of_run ON pipeline_review (run_id);
CREATE INDEX pipeline_review_due ON pipeline_review (expires_at) WHERE status = 'pending';

-- json, not jsonb: numbers stay as they were sent.
CREATE TABLE pipeline_output (
    step_run_id uuid NOT NULL REFERENCES pipeline_step_run (id) ON DELETE CASCADE,
    -- -1 for a whole-file step, so that a key can be made of it.
    window_number integer NOT NULL DEFAULT -1,
    run_id uuid NOT NULL REFERENCES pipeline_run (id) ON DELETE CASCADE,
    file_id uuid NOT NULL,
    step_key text NOT NULL,
    namespace text NOT NULL,
    start_ms bigint,
    end_ms bigint,
    overlap_ms bigint,
    output json NOT NULL,
    byte_size integer NOT NULL,
    written_at timestamptz NOT NULL,
    PRIMARY KEY (step_run_id, window_number)
);

CREATE INDEX pipeline_output_of_run ON pipeline_output (run_id, namespace, window_number);
-- One row for each step run, so that the latest of a namespace is found at once.
CREATE INDEX pipeline_output_latest ON pipeline_output (file_id, namespace, written_at DESC)
    WHERE window_number <= 0;

-- What has happened that runs must be looked at for, recorded with what happened.
CREATE TABLE pipeline_change (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind text NOT NULL CHECK (kind IN ('file', 'run', 'batch')),
    subject_id uuid NOT NULL
);

-- Runs wait for media. Files know nothing of runs, so the database tells, in the same transaction.
CREATE FUNCTION pipeline_note_file(changed_id uuid) RETURNS void AS $$
BEGIN
    IF EXISTS (SELECT FROM pipeline_run
            WHERE file_id = changed_id AND status IN ('pending', 'running')) THEN
        INSERT INTO pipeline_change (kind, subject_id) VALUES ('file', changed_id);
        PERFORM pg_notify('framekiln', 'pipelines');
    END IF;
END
$$ LANGUAGE plpgsql;

CREATE FUNCTION pipeline_on_file() RETURNS trigger AS $$
BEGIN
    PERFORM pipeline_note_file(OLD.id);
    RETURN NULL;
END
$$ LANGUAGE plpgsql;

CREATE FUNCTION pipeline_on_fragment() RETURNS trigger AS $$
BEGIN
    PERFORM pipeline_note_file(NEW.file_id);
    RETURN NULL;
END
$$ LANGUAGE plpgsql;

CREATE TRIGGER pipeline_file_changed AFTER UPDATE OF status ON file
    FOR EACH ROW WHEN (OLD.status IS DISTINCT FROM NEW.status)
    EXECUTE FUNCTION pipeline_on_file();
CREATE TRIGGER pipeline_file_deleted AFTER DELETE ON file
    FOR EACH ROW EXECUTE FUNCTION pipeline_on_file();
CREATE TRIGGER pipeline_fragment_arrived AFTER INSERT ON file_fragment
    FOR EACH ROW EXECUTE FUNCTION pipeline_on_fragment();
