"""What translating costs: a module for each figure."""
