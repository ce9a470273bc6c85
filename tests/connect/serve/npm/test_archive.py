"""`GET /client.tgz`: what npm installs from a server is the package that `clients/typescript` builds."""

import asyncio
import io
import json
import subprocess
import tarfile
from pathlib import Path

from langgraph_agui import __version__
from langgraph_agui.connect.serve import agui_app
from langgraph_agui.connect.serve.npm import archive

from examples.agent import day_planner
from tests.support.servers.serving import served

SOURCE = Path(__file__).parents[4] / "clients/typescript"
IMPORTS = 'import { ThreadAgent } from "langgraph-agui"; console.log(typeof ThreadAgent);'


def in_folder(folder: Path, *command: str) -> str:
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def test_the_archive_has_what_npm_would_pack(tmp_path: Path) -> None:
    in_folder(SOURCE, "npm", "run", "--silent", "build", "--", "--outDir", str(tmp_path))
    named = json.loads(in_folder(SOURCE, "npm", "pack", "--dry-run", "--json"))[0]["files"]
    packed = {each["path"]: SOURCE / each["path"] for each in named if not each["path"].startswith("dist/")}
    packed |= {f"dist/{path.name}": path for path in tmp_path.iterdir()}
    with tarfile.open(fileobj=io.BytesIO(archive())) as served_files:
        shipped = {each.name: (served_files.extractfile(each) or io.BytesIO()).read() for each in served_files}
    made = {f"package/{name}": path.read_bytes() for name, path in packed.items()}
    assert shipped == made, "run: npm run ship, in clients/typescript"
    assert json.loads(shipped["package/package.json"])["version"] == __version__


async def test_npm_installs_it_from_a_server_for_anybody(tmp_path: Path) -> None:
    def refuse(request: object) -> None:
        raise PermissionError

    (tmp_path / "package.json").write_text('{"type": "module"}')
    (tmp_path / "imports.mjs").write_text(IMPORTS)
    async with served(agui_app(day_planner(), authenticate=refuse)) as server:
        async with server.client() as stranger:
            assert (await stranger.get("/info")).status_code == 500
        install = ("npm", "install", "--no-audit", "--no-fund", f"{server.url}/client.tgz")
        await asyncio.to_thread(in_folder, tmp_path, *install)
    assert (tmp_path / "node_modules/langgraph-agui/dist/index.d.ts").exists()
