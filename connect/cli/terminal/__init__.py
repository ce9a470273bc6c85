"""Events as text for a person: `screen` prints, `wording` says what a value is called. Never where they come from."""
