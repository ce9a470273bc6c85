"""What the translator guarantees for any stream, beside conformance: a module for each guarantee."""
