"""`make dist`: builds the artefacts twice, compares the bytes, checks them, and uses them in clean environments."""

import argparse
import hashlib
import json
import shutil
import tempfile
from pathlib import Path
from typing import Final

from .artefacts import PAGES, ROOT, Artefacts, build_all, run, tracked
from .environments import OLDEST, serving, use_archive, use_wheel

ENVIRONMENTS: Final = {"oldest": OLDEST, "newest": ()}
"""pip's arguments, by what they install."""


def main() -> None:
    """Leaves the artefacts in `dist/`, if nothing is wrong with them."""
    parser = argparse.ArgumentParser(prog="python -m tests.release", description=main.__doc__)
    parser.add_argument("--folder", type=Path, default=ROOT / "dist", help="where the artefacts are left")
    folder = parser.parse_args().folder
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        print("building twice", flush=True)
        first, second = (_build(scratch / each) for each in ("first", "second"))
        _compare(first, second)
        print("checking", flush=True)
        _check(first)
        for which, arguments in ENVIRONMENTS.items():
            print(f"installing on the {which} versions", flush=True)
            environment = use_wheel(first.wheel, _version(first), scratch / which, arguments)
            with serving(environment) as url:
                # what a server has is the same package
                use_archive(
                    f"{url}/client.tgz" if which == "oldest" else str(first.npm), url, scratch / f"{which}-page"
                )
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for made in first:
            shutil.copy(made, folder)
            print(f"{hashlib.sha256(made.read_bytes()).hexdigest()}  {made.name}  {made.stat().st_size:,} bytes")


def _build(folder: Path) -> Artefacts:
    """Builds in `tree`, and returns what is built, in `folder`."""
    folder.mkdir()
    return build_all(tracked(), folder / f"tree-of-the-{folder.name}", folder)


def _compare(first: Artefacts, second: Artefacts) -> None:
    """Raises `SystemExit` if two builds differ."""
    for one, other in zip(first, second, strict=True):
        if one.name != other.name or one.read_bytes() != other.read_bytes():
            raise SystemExit(f"{one.name} is not the same when it is built again")


def _check(made: Artefacts) -> None:
    """Raises `SystemExit` for what a linter of archives finds, and for versions that differ."""
    run("twine", "check", "--strict", str(made.sdist), str(made.wheel), within=ROOT)
    run("check-wheel-contents", str(made.wheel), within=ROOT)
    run("hadolint", "examples/operations/Dockerfile", within=ROOT)
    run("gixy", "examples/operations/nginx.conf", within=ROOT)
    run(str(ROOT / PAGES / "node_modules/.bin/publint"), "--strict", str(made.npm), within=ROOT)
    npm = json.loads((ROOT / PAGES / "package.json").read_text(encoding="utf-8"))["version"]
    if {_version(made), npm} != {made.sdist.name.removesuffix(".tar.gz").rpartition("-")[2]}:
        raise SystemExit(f"the wheel is {_version(made)}, the npm package {npm}")


def _version(made: Artefacts) -> str:
    return made.wheel.name.split("-")[1]


if __name__ == "__main__":
    main()
