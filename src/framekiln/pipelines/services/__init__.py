"""What owners do with pipelines, endpoints, runs, batches, reviews and outputs."""
