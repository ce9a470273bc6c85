"""`values` parts: stored messages reconciled with what the client has, state as deltas, predicted state.

Imports everything below it; `messages` and `run` stand beside it, and only `procedures.py` calls all three.
"""
