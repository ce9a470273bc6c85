"""Any value as JSON, the difference of two JSON values, and JSON text that is not complete yet.

Streams and AG-UI are not known here. All other folders may import this one; it imports none of them.
"""
