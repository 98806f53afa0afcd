-- Copies to destinations have a queue, slots and quotas of their own.

UPDATE procrastinate_jobs SET queue_name = 'destinations'
WHERE task_name = 'destination.copy' AND status IN ('todo', 'doing');

-- The limits of an organization with what is used of them. `defaults` has the limits of the
-- settings by name; there is no limit where both have none.
--
-- A check leaves out what has no limit, and counts jobs no further than necessary. Until its
-- transaction ends, no other check of the organization begins. That must be a volatile function:
-- its queries see what was committed while it waited for the lock. A plain statement would count
-- what was there when it began.
CREATE OR REPLACE FUNCTION quota_usage(
    of_organization uuid, names text[], defaults jsonb, since timestamptz, is_check boolean
) RETURNS TABLE (quota text, most bigint, used bigint, first_hour timestamptz) AS $$
BEGIN
    IF is_check AND (defaults ?| names OR EXISTS (
        SELECT FROM organization_quota AS own
        WHERE own.organization_id = of_organization AND own.name = ANY(names)
          AND own.amount IS NOT NULL
    )) THEN
        PERFORM pg_advisory_xact_lock(hashtextextended('quota:' || of_organization, 0));
    END IF;
    RETURN QUERY
    SELECT
        asked.name,
        limited.amount,
        CASE asked.name
            WHEN 'queued_jobs' THEN job_count_waiting(
                of_organization::text, CASE WHEN is_check THEN limited.amount END
            )
            WHEN 'concurrent_renders' THEN job_count_running(of_organization::text, 'render')
            WHEN 'stored_bytes' THEN (
                SELECT coalesce(sum(byte_count), 0)::bigint FROM stored_change
                WHERE organization_id = of_organization
            )
            WHEN 'render_minutes' THEN recent.total
            WHEN 'downloaded_bytes' THEN recent.total
            WHEN 'concurrent_copies' THEN
                job_count_running(of_organization::text, 'destinations')
            WHEN 'uploaded_bytes' THEN recent.total
        END,
        recent.first_hour
    FROM unnest(names) WITH ORDINALITY AS asked (name, place)
    LEFT JOIN organization_quota AS own
        ON own.organization_id = of_organization AND own.name = asked.name
    CROSS JOIN LATERAL (
        SELECT CASE WHEN own.name IS NULL THEN (defaults ->> asked.name)::bigint ELSE own.amount END
            AS amount
    ) AS limited
    CROSS JOIN LATERAL (
        SELECT coalesce(sum(counted.amount), 0)::bigint AS total, min(counted.hour) AS first_hour
        FROM organization_usage AS counted
        WHERE counted.organization_id = of_organization AND counted.name = asked.name
          AND counted.hour > since
    ) AS recent
    WHERE limited.amount IS NOT NULL OR NOT is_check
    ORDER BY asked.place;
END
$$ LANGUAGE plpgsql VOLATILE;
