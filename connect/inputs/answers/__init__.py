"""A client's answers to interrupts: which interrupt each is for, and whether it fits that interrupt's schema."""
