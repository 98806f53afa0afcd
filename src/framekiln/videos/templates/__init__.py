"""Templates: layer configs with named inputs, stored and filled."""
