-- A change that could not be followed is looked at again later, and never forgotten.

ALTER TABLE pipeline_change ADD COLUMN postponed_until timestamptz;
