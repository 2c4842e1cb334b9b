"""Boots Linux for aarch64 in an emulator, and runs programs there in the jail: `python scripts/boot_aarch64.py`.

It needs Debian or Ubuntu with `apt-get install qemu-system-arm cpio`, and takes about half a minute. The kernel and Python are
Debian's packages for arm64, which are unpacked into a folder and not installed. qemu's emulation of single programs would
not do, since it has neither seccomp nor Landlock. `--folder` keeps the downloads for the next time.
"""

import argparse
import compileall
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from py_compile import PycInvalidationMode


ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from helpers.jailed_programs import EXPECTED, list_wrong  # noqa: E402


PYTHON = "python3.11"
"""Python of the release. Its modules are compiled here if this is the same version."""

PACKAGES = (f"{PYTHON}-minimal", f"lib{PYTHON}-stdlib")

KERNEL = "linux-image-cloud-arm64"
"""The package that depends on the newest kernel for virtual machines."""

UNNEEDED = (
    "usr/share",
    "usr/lib/python3.11/test",
    "usr/lib/python3.11/lib2to3",
    "usr/lib/python3.11/ensurepip",
    "var",
)

SECONDS = 5.0
"""CPU time of a run. An emulated processor is several times slower than a real one."""

INIT = f"""#!/usr/bin/{PYTHON}
import ctypes, os, subprocess
os.environ.update(PATH="/usr/bin:/bin", HOME="/root")
libc = ctypes.CDLL(None)
for kind, place in (("proc", "/proc"), ("sysfs", "/sys"), ("devtmpfs", "/dev"), ("tmpfs", "/tmp")):
    os.makedirs(place, exist_ok=True)
    libc.mount(kind.encode(), place.encode(), kind.encode(), 0, None)
print("KERNEL", *os.uname(), flush=True)
subprocess.run(["/usr/bin/{PYTHON}", "/project/tests/helpers/jailed_programs.py", "{SECONDS}"])
os.sync()
libc.reboot(0x4321FEDC)  # switches the machine off
"""
"""The first process of the machine."""

MACHINE = ("qemu-system-aarch64", "-M", "virt", "-smp", "2", "-m", "2048", "-nographic", "-no-reboot", "-net", "none")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, help="where packages are kept; by default, a temporary folder")
    parser.add_argument("--mirror", default="http://deb.debian.org/debian", help="server of Debian's packages")
    parser.add_argument("--release", default="bookworm", help="release of Debian; it must have Python 3.11")
    parser.add_argument("--cpu", default="max,pauth-impdef=on", help="processor that qemu emulates")
    parser.add_argument("--limit", type=float, default=1800.0, help="time limit of the machine, in seconds")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = (options.folder or Path(temporary) / "packages").absolute()
        kernel, packages = download(folder, options.mirror, options.release)
        initramfs = build_initramfs(Path(temporary), packages)
        image = unpack_kernel(Path(temporary), kernel)
        lines = boot([*MACHINE, "-cpu", options.cpu], image, initramfs, options.limit)
    return print_table(lines)


def download(folder: Path, mirror: str, release: str) -> tuple[Path, list[Path]]:
    """Return the package of the kernel and those of Python, with what they need."""
    apt = prepare_apt(folder, mirror, release)
    subprocess.run(["apt-get", *apt, "-q", "update"], check=True, stdout=sys.stderr)
    install = ["apt-get", *apt, "-q", "-y", "--no-install-recommends", "--download-only", "install", *PACKAGES]
    subprocess.run(install, check=True, stdout=sys.stderr)
    depends = subprocess.run(["apt-cache", *apt, "depends", KERNEL], check=True, capture_output=True, text=True)
    name = depends.stdout.split("Depends: ")[1].split()[0]
    # the unsigned kernel is the same one, and does not depend on the tools that install a kernel
    subprocess.run(["apt-get", *apt, "-q", "download", f"{name}-unsigned"], check=True, cwd=folder, stdout=sys.stderr)
    return next(folder.glob(f"{name}-unsigned_*.deb")), sorted((folder / "archives").glob("*.deb"))


def prepare_apt(folder: Path, mirror: str, release: str) -> list[str]:
    """Return the options with which apt uses only this folder, for another architecture than this machine's."""
    for name in ("state/lists/partial", "archives/partial"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "sources.list").write_text(f"deb {mirror} {release} main\n")
    (folder / "status").touch()
    options = {
        "Dir::Etc::sourcelist": folder / "sources.list",
        "Dir::Etc::sourceparts": "/dev/null",
        "Dir::State": folder / "state",
        "Dir::State::status": folder / "status",
        "Dir::Cache": folder,
        "APT::Architecture": "arm64",
        "APT::Architectures::": "arm64",
        "APT::Sandbox::User": "root",
    }
    return [word for name, value in options.items() for word in ("-o", f"{name}={value}")]


def build_initramfs(folder: Path, packages: list[Path]) -> Path:
    """Return the archive of the machine's files: Python, the jail and the programs."""
    root = folder / "root"
    for package in packages:
        subprocess.run(["dpkg-deb", "-x", package, root], check=True)
    for name in UNNEEDED:
        shutil.rmtree(root / name, ignore_errors=True)
    copy_project(root / "project")
    if f"python{sys.version_info[0]}.{sys.version_info[1]}" == PYTHON:
        mode = PycInvalidationMode.UNCHECKED_HASH
        compileall.compile_dir(root, quiet=2, stripdir=str(root), invalidation_mode=mode)
    (root / "init").write_text(INIT)
    (root / "init").chmod(0o755)
    archive = folder / "initramfs"
    with archive.open("wb") as file:
        names = "\n".join(str(path.relative_to(root)) for path in [root, *sorted(root.rglob("*"))])
        subprocess.run(
            ["cpio", "--quiet", "-o", "-H", "newc", "-R", "0:0"],
            input=names.encode(),
            stdout=file,
            cwd=root,
            check=True,
        )
    return archive


def copy_project(project: Path) -> None:
    """Copy the modules of the jail and the programs."""
    for name in ("trl_grpo_rewards/cores.py", "tests/helpers/jailed_programs.py"):
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, project / name)
    shutil.copytree(ROOT / "trl_grpo_rewards/sandbox", project / "trl_grpo_rewards/sandbox")


def unpack_kernel(folder: Path, package: Path) -> Path:
    subprocess.run(["dpkg-deb", "-x", package, folder / "kernel"], check=True)
    return next((folder / "kernel/boot").glob("vmlinuz-*"))


def boot(machine: list[str], image: Path, initramfs: Path, limit: float) -> list[str]:
    """Boot the machine, show what it writes, and return its lines."""
    files = ["-kernel", str(image), "-initrd", str(initramfs)]
    process = subprocess.Popen(
        ["timeout", str(limit), *machine, *files, "-append", "console=ttyAMA0 rdinit=/init panic=-1 quiet"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        encoding="utf-8",
        errors="replace",
    )
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        lines.append(line.rstrip())
        print(lines[-1][:160], file=sys.stderr, flush=True)
    process.wait()
    return lines


def print_table(lines: list[str]) -> int:
    """Print how each program ended. Return 0 if all ended as expected."""
    print(*(line for line in lines if line.startswith("KERNEL")))
    results = {result["program"]: result for result in map(json.loads, filter(is_result, lines))}
    missing = {"status": "not run", "output": "", "errors": ""}
    failed = 0
    print("| program | on aarch64 | expected |\n|---|---|---|")
    for name, expected in EXPECTED.items():
        result = results.get(name, missing)
        wrong = list_wrong(name, result)
        failed += bool(wrong)
        remark = f" ({'; '.join(wrong)}: {result['output']!r} {result['errors']!r})" if wrong else ""
        print(f"| {name} | {result['status']} | {expected.status}{remark} |")
    print(f"{len(EXPECTED) - failed} of {len(EXPECTED)} programs ended as expected")
    return int(failed > 0)


def is_result(line: str) -> bool:
    return line.startswith('{"program"')


if __name__ == "__main__":
    sys.exit(main())
