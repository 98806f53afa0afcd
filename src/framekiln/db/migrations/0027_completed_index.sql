-- /metrics adds up the films of the last day.
CREATE INDEX render_completed ON render (completed_at) WHERE status = 'complete';
