"""Facts of media files and of every kind of source."""
