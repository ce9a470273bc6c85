"""The browser tests: what they are served (Python), and what drives a real browser (JavaScript)."""
