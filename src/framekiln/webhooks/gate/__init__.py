"""Which delivery may be sent now, counted under one lock over all workers and machines."""
