"""The worker process: the loop that runs jobs, and the periodic schedule."""
