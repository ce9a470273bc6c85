"""What is published: `make dist` builds it, checks it, and uses it where nothing else of this checkout is.

`artefacts` builds the wheel, the source distribution and the npm archive; `environments` installs them. Nothing is
published here.
"""
