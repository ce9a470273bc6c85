"""The facts about the real clients that everything else rests on still hold; they are written in JavaScript."""

import subprocess

from tests.support.clients.agui_client import CLIENT, AguiClient, node


def test_the_clients_behave_as_relied_on(agui_client: AguiClient) -> None:
    """`agui_client` is asked for because it installs the clients where they are missing."""
    files = sorted(map(str, CLIENT.glob("*.test.mjs")))
    ran = subprocess.run([node(), "--test", *files], capture_output=True, text=True, cwd=CLIENT, check=False)
    assert ran.returncode == 0, ran.stdout
