"""The HTTP interface: routes, authentication, error responses."""
