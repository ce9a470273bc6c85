"""Any value as JSON, the difference of two JSON values, and JSON that is not complete yet.

Nothing here knows streams or AG-UI. Rooms above import this one; this one imports none of them.
"""
