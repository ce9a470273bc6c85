"""Random values, events, inputs, streams and graphs: hypothesis strategies."""
