"""An agent for editors."""
