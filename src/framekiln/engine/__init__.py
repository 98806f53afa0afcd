"""Where capabilities meet to make pictures and sound. Knows no organization and no database."""
