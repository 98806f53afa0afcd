"""Parts of uploads under way: their SQL."""
