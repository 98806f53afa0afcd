"""A film as segments for players: what is offered, and how each segment is made."""
