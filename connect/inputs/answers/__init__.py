"""A client's answers to interrupts: which interrupt each one answers, and whether it fits the interrupt's schema."""
