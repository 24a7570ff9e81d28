"""The wheel alone is enough: it holds its data, and runs in an empty environment far from the checkout."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist, and the wheel that was built from that sdist."""
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT))
    return folder


@pytest.fixture(scope="session")
def wheel(built: Path) -> Path:
    (path,) = built.glob("*.whl")
    return path


def run(*words: str, cwd: Path | None = None, env: dict[str, str] | None = None) -> str:
    done = subprocess.run(words, cwd=cwd, env=env, capture_output=True, text=True, timeout=600, check=False)
    assert 0 == done.returncode, f"{' '.join(words)}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def test_the_wheel_holds_the_package_its_data_and_nothing_else(wheel: Path) -> None:
    sources = {path for path in (ROOT / "attunebench").rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    package = {path.relative_to(ROOT).as_posix(): path for path in sources if path.name != ".keep"}
    demo = {f"attunebench/_data/Demo12/{path.name}": path for path in (ROOT / "Test Samples" / "Demo12").glob("[!.]*")}
    book = {"attunebench/_data/annotation_codebook.json": ROOT / "annotation_codebook.json"}
    expected = {**package, **demo, **book}
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
        assert set(expected) == names
        differing = [name for name in names if archive.read(name) != expected[name].read_bytes()]
    assert [] == differing


@pytest.mark.parametrize("name", ["LICENSE", "LICENSE-DATA"])
def test_the_wheel_holds_both_licences(wheel: Path, name: str) -> None:
    with zipfile.ZipFile(wheel) as archive:
        assert any(entry.endswith(f".dist-info/licenses/{name}") for entry in archive.namelist())


def test_the_sdist_holds_what_a_contributor_needs(built: Path) -> None:
    (path,) = built.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    wanted = {"README.md", "CHANGELOG.md", "CITATION.cff", ".ci/run", "mkdocs.yml", "Dockerfile", "scripts/check"}
    assert set() == wanted - names


def test_the_image_gets_what_the_wheel_is_built_from(wheel: Path, tmp_path: Path) -> None:
    """A .dockerignore that admits paths by name: from these alone the same wheel is built."""
    assert "COPY . /src\n" in (ROOT / "Dockerfile").read_text("utf-8")
    first, *patterns = [line for line in (ROOT / ".dockerignore").read_text("utf-8").splitlines() if line[:1] != "#"]
    assert "*" == first
    for name in (pattern[1:] for pattern in patterns if pattern.startswith("!")):
        goal = tmp_path / "src" / name
        goal.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, goal, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, goal)
    dist = tmp_path / "dist"
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(dist), str(tmp_path / "src"))
    (other,) = dist.glob("*.whl")
    assert entries(wheel) == entries(other)


def entries(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of programs of an environment that holds the wheel and what it depends on."""
    place = tmp_path_factory.mktemp("environment")
    programs = place / ("Scripts" if os.name == "nt" else "bin")
    if uv := shutil.which("uv"):  # the same in a twentieth of the time
        run(sys.executable, "-m", "venv", "--without-pip", str(place))
        run(uv, "pip", "install", "--quiet", "--python", str(programs / "python"), str(wheel))
    else:
        run(sys.executable, "-m", "venv", str(place))
        install = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile")
        run(str(programs / "python"), *install, str(wheel))
    return programs


def test_the_installed_wheel_runs_the_readmes_demo_from_another_folder(installed: Path, tmp_path: Path) -> None:
    first = re.findall(r"```bash\n(.*?)\n```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)[0]
    program, *words = first.rpartition("&& ")[2].split()
    hidden = {name for name in os.environ if name.endswith("_API_KEY") or name == "PYTHONPATH"}
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    # Offline: a proxy that nobody listens at makes every request fail.
    environment |= {"HTTPS_PROXY": "http://127.0.0.1:9", "HTTP_PROXY": "http://127.0.0.1:9", "HOME": str(tmp_path)}

    where = run(str(installed / "python"), "-c", "import attunebench; print(attunebench.__file__)", cwd=tmp_path)
    output = run(str(installed / Path(program).name), *words, cwd=tmp_path, env=environment)

    assert str(installed.parent) in where
    for baseline in ("random", "majority", "oracle"):
        assert baseline in output
    assert "No problems found." in run(str(installed / "attune-bench"), "doctor", cwd=tmp_path, env=environment)
