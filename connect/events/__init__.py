"""Brings events to their readers: encoded once, in batches, as models or SSE frames. Also the view of one reader."""
