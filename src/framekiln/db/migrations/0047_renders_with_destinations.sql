-- Reading a render asks for its destinations only if it has some.
ALTER TABLE render ADD COLUMN has_destinations boolean NOT NULL DEFAULT false;
UPDATE render SET has_destinations = true WHERE id IN (SELECT render_id FROM destination);
