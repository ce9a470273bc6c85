"""Shows events to a person: `screen` prints them, and `wording` turns values into text."""
