"""Several server processes that share Redis and PostgreSQL: what is promised of them, with real signals."""
