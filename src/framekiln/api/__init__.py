"""HTTP in: routes, authentication, error shapes."""
