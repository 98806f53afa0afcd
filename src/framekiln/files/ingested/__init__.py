"""What is known of sources that were downloaded by URL, and its SQL."""
