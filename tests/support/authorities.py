"""Which certificates HTTP clients read in tests: one. To read those of all authorities takes each client 20 ms, and no
test speaks TLS to a server whose certificate it has not made itself."""

import os
from pathlib import Path

import certifi

AUTHORITY = Path(__file__).with_name("authority.pem")
"""The certificate of an authority that has certified nobody."""


def trust_nobody() -> None:
    """Has the clients of this process read one certificate, and those of processes that it starts, if they read the
    environment. Whoever names a file of certificates is given that one."""
    os.environ["SSL_CERT_FILE"] = str(AUTHORITY)
    os.environ.pop("SSL_CERT_DIR", None)
    certifi.where = lambda: str(AUTHORITY)
