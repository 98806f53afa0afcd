"""What steps leave behind, what reviewers make of it, and what later steps read. Pure."""
