"""Films made of films: tracks put together again, parts hidden and silenced."""
