"""The pure half: AG-UI events in, updates of the Agent Client Protocol out; prompts, forms and questions. No I/O, no
clock, no import of the protocol's SDK, and no turns: what is here does not know when a prompt begins or ends."""
