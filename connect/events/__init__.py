"""Events on their way to readers: encoded once, in batches, as models or SSE frames; and the view of one reader."""
