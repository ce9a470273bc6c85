"""What serving, connecting and editors cost: a module for each figure."""
