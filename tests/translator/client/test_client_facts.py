"""The facts about the real clients that everything else rests on still hold; they are written in JavaScript."""

import re
import subprocess

from tests.support.clients.agui_client import CLIENT, AguiClient, node

IMPORT_ALL = "for (const file of process.argv.slice(1)) await import(file)"
"""All tests in one process: `node --test` starts one for each file, and each has the clients to load."""


def test_the_clients_behave_as_relied_on(agui_client: AguiClient) -> None:
    """`agui_client` is asked for because it installs the clients where they are missing."""
    files = sorted(path.as_uri() for path in CLIENT.glob("*.test.mjs"))
    command = [node(), "--test-reporter=tap", "--input-type=module", "--eval", IMPORT_ALL, *files]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=CLIENT, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    declared = sum(path.read_text().count("\ntest(") for path in CLIENT.glob("*.test.mjs"))
    [ended] = [int(count) for count in re.findall(r"^# pass (\d+)$", ran.stdout, re.MULTILINE)]
    assert ended >= declared > 0
