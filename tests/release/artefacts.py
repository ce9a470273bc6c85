"""Builds the artefacts: `build_all`. The same commit gives the same bytes, whenever and wherever it is built.

1. Only tracked files are built. Each build has its own copy of them, for setuptools would also ship what an earlier
   build left behind.
2. Times are those of the commit (SOURCE_DATE_EPOCH, if it is set). setuptools uses that for the wheel, but not for the
   source distribution, which is therefore written again: with this time, the same modes and no owners, in order.
3. The wheel is built from the source distribution, so whoever has one can make the other.
"""

import gzip
import io
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).parents[2]
PAGES: Final = Path("clients/typescript")
"""The folder of the npm package."""
UMASK: Final = 0o022
"""Modes of files that a build creates are part of the wheel."""


class Artefacts(NamedTuple):
    """The files of one build."""

    sdist: Path
    wheel: Path
    npm: Path


def build(kind: str, project: Path, folder: Path) -> Path:
    """Has setuptools build the `sdist` or the `wheel` of a project, as pip does, and returns the file."""
    script = f"from setuptools import build_meta; print(build_meta.build_{kind}({str(folder)!r}))"
    made = run(sys.executable, "-c", script, within=project, also={"SOURCE_DATE_EPOCH": str(epoch())})
    return folder / made.split()[-1]


def build_all(files: Iterable[Path], tree: Path, folder: Path) -> Artefacts:
    """Copies these files of the checkout into the new folder `tree`, builds the artefacts there, and returns them in
    `folder`. The npm package is compiled by the checkout's `node_modules`."""
    for file in files:
        (tree / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / file, tree / file)
        (tree / file).chmod(0o755 if os.access(ROOT / file, os.X_OK) else 0o644)
    pages = tree / PAGES
    (pages / "node_modules").symlink_to(ROOT / PAGES / "node_modules")
    run("npm", "run", "--silent", "build", within=pages)
    name = run("npm", "pack", "--silent", "--pack-destination", str(folder), within=pages).split()[-1]
    for made in (pages / "node_modules", pages / "dist"):
        made.unlink() if made.is_symlink() else shutil.rmtree(made)
    sdist = build("sdist", tree, folder)
    unpacked = _normalise(sdist, tree.parent / f"{tree.name}-unpacked")
    return Artefacts(sdist, build("wheel", unpacked, folder), folder / name)


def _normalise(sdist: Path, folder: Path) -> Path:
    """Writes a source distribution again, so that it depends on nothing but the files in it. Returns where it is
    unpacked."""
    content = io.BytesIO()
    with tarfile.open(sdist) as old, tarfile.open(fileobj=content, mode="w", format=tarfile.PAX_FORMAT) as new:
        for member in sorted(old.getmembers(), key=lambda each: each.name):
            if member.isfile():
                made = tarfile.TarInfo(member.name)
                made.size, made.mtime = member.size, epoch()
                made.mode = 0o755 if member.mode & 0o100 else 0o644
                new.addfile(made, old.extractfile(member))
    with sdist.open("wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=epoch()) as packed:
        packed.write(content.getvalue())
    with tarfile.open(sdist) as archive:
        archive.extraction_filter = getattr(tarfile, "data_filter", None)  # Python below 3.11.4 has none
        archive.extractall(folder)
    return folder / sdist.name.removesuffix(".tar.gz")


def tracked() -> list[Path]:
    """The files of the checkout that git knows, by name."""
    return [Path(name) for name in run("git", "ls-files", "-z", within=ROOT).split("\0") if name]


def epoch() -> int:
    """Seconds since 1970: the time of all files in the artefacts."""
    given = os.environ.get("SOURCE_DATE_EPOCH")
    return int(given or run("git", "log", "-1", "--format=%ct", within=ROOT))


def run(*command: str, within: Path, also: Mapping[str, str] = {}) -> str:
    """Runs a command in a folder and returns what it printed. Raises `SystemExit`, with all that it said, if it fails.
    `also`: variables of its environment."""
    environment = {**os.environ, **also}
    ran = subprocess.run(command, cwd=within, env=environment, umask=UMASK, capture_output=True, text=True, check=False)
    if ran.returncode != 0:
        raise SystemExit(f"{' '.join(command)} in {within}:\n{ran.stdout}{ran.stderr}")
    return ran.stdout
