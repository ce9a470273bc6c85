"""Redis and PostgreSQL servers of a test session's own."""
