"""Jobs in: the loop that runs them, and what happens on a timer."""
