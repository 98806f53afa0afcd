-- Organizations take turns: a flood of jobs of one does not delay the next job of another.

-- Limits that differ from the defaults of the settings; null means no limit.
CREATE TABLE organization_quota (
    organization_id uuid NOT NULL REFERENCES organization (id) ON DELETE CASCADE,
    name text NOT NULL,
    amount bigint CHECK (amount >= 0),
    PRIMARY KEY (organization_id, name)
);

-- Empty for jobs that belong to no organization: they are one owner.
ALTER TABLE procrastinate_jobs ADD COLUMN owner text
    GENERATED ALWAYS AS (coalesce(args ->> 'organization_id', '')) STORED;

CREATE INDEX job_waiting ON procrastinate_jobs (queue_name, owner, priority DESC, id)
    WHERE status = 'todo';
CREATE INDEX job_waiting_of_owner ON procrastinate_jobs (owner) WHERE status = 'todo';
CREATE INDEX job_running ON procrastinate_jobs (queue_name, owner) WHERE status = 'doing';

-- When an owner last had its turn. Worth nothing after a crash.
CREATE SEQUENCE job_turn_number;
CREATE UNLOGGED TABLE job_turn (
    queue_name text NOT NULL,
    owner text NOT NULL,
    number bigint NOT NULL,
    PRIMARY KEY (queue_name, owner)
);

-- The owners in these queues who have a job that may run now, with the number of their running
-- ones. `limits` has, by queue, the name of the quota for running jobs and its default:
-- {"render": {"quota": "concurrent_renders", "default": 8}}. With "most", no owner gets more
-- running jobs than that.
--
-- It goes from owner to owner in the index, so that its cost depends on the number of owners and
-- not on the number of jobs.
CREATE FUNCTION job_waiting_owners(queues text[], limits jsonb)
    RETURNS TABLE (queue_name text, owner text, running bigint) AS $$
    WITH RECURSIVE waiting (queue_name, owner) AS (
        SELECT queue, (
            SELECT min(job.owner) FROM procrastinate_jobs AS job
            WHERE job.status = 'todo' AND job.queue_name = queue
        )
        FROM unnest(queues) AS queue
        UNION ALL
        SELECT waiting.queue_name, (
            SELECT min(job.owner) FROM procrastinate_jobs AS job
            WHERE job.status = 'todo' AND job.queue_name = waiting.queue_name
              AND job.owner > waiting.owner
        )
        FROM waiting WHERE waiting.owner IS NOT NULL
    )
    SELECT waiting.queue_name, waiting.owner, busy.running
    FROM waiting
    CROSS JOIN LATERAL (
        SELECT count(*) AS running FROM procrastinate_jobs AS job
        WHERE job.status = 'doing' AND job.queue_name = waiting.queue_name
          AND job.owner = waiting.owner
    ) AS busy
    LEFT JOIN organization_quota AS quota
        ON quota.organization_id::text = waiting.owner
        AND quota.name = limits #>> ARRAY[waiting.queue_name, 'quota']
    WHERE waiting.owner IS NOT NULL
      AND EXISTS (
          SELECT FROM procrastinate_jobs AS job
          WHERE job.status = 'todo' AND job.queue_name = waiting.queue_name
            AND job.owner = waiting.owner
            AND (job.scheduled_at IS NULL OR job.scheduled_at <= now())
      )
      AND busy.running < coalesce(
          CASE WHEN quota.name IS NULL
              THEN (limits #>> ARRAY[waiting.queue_name, 'default'])::bigint
              ELSE quota.amount
          END,
          9223372036854775807
      )
      AND busy.running < coalesce(
          (limits #>> ARRAY[waiting.queue_name, 'most'])::bigint, 9223372036854775807
      )
$$ LANGUAGE sql STABLE;

-- Takes a job of the owner with the fewest running ones; among equals, of the one whose last turn
-- is longest ago. Within an owner, priority and age decide.
CREATE FUNCTION job_take(queues text[], taker bigint, limits jsonb)
    RETURNS procrastinate_jobs AS $$
DECLARE
    turn record;
    taken procrastinate_jobs;
BEGIN
    -- One taker at a time, or several would count the same running jobs.
    PERFORM pg_advisory_xact_lock(hashtextextended('job_turn:' || queue, 0))
    FROM (SELECT queue FROM unnest(queues) AS queue ORDER BY queue) AS sorted;
    FOR turn IN
        SELECT waiting.queue_name, waiting.owner
        FROM job_waiting_owners(queues, limits) AS waiting
        LEFT JOIN job_turn AS last
            ON last.queue_name = waiting.queue_name AND last.owner = waiting.owner
        ORDER BY waiting.running, last.number NULLS FIRST, waiting.queue_name, waiting.owner
    LOOP
        UPDATE procrastinate_jobs SET status = 'doing', worker_id = taker
        WHERE id = (
            SELECT job.id FROM procrastinate_jobs AS job
            WHERE job.status = 'todo' AND job.queue_name = turn.queue_name
              AND job.owner = turn.owner
              AND (job.scheduled_at IS NULL OR job.scheduled_at <= now())
            ORDER BY job.priority DESC, job.id LIMIT 1
            FOR UPDATE SKIP LOCKED
        )
        RETURNING * INTO taken;
        IF FOUND THEN
            INSERT INTO job_turn VALUES (turn.queue_name, turn.owner, nextval('job_turn_number'))
            ON CONFLICT ON CONSTRAINT job_turn_pkey DO UPDATE SET number = excluded.number;
            EXIT;
        END IF;
    END LOOP;
    RETURN taken;
END
$$ LANGUAGE plpgsql;
