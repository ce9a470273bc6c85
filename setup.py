"""The description that a package index shows: README.md without links and pictures of the checkout, which an index does
not have. All else is in pyproject.toml."""

import re
from pathlib import Path

from setuptools import setup

_OF_THE_CHECKOUT = r"\]\((?!https?://)[^)]*\)"

text = Path(__file__).with_name("README.md").read_text(encoding="utf-8")
text = re.sub(rf"!\[[^\]]*{_OF_THE_CHECKOUT}\n*", "", text)
text = re.sub(rf"\[([^\]]*){_OF_THE_CHECKOUT}", r"\1", text)
setup(long_description=text, long_description_content_type="text/markdown")
