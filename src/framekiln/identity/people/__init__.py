"""Users, their passwords, and the sessions in which they are logged in."""
