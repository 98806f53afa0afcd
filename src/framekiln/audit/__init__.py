"""The audit log: who changed what in an organization."""
