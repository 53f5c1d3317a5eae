"""The command never harms a file, and its exit codes say what happened."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import fairret
from fairret.auditing import report
from fairret.auditing.report import check_target, write_whole
from fairret.cli import audit as command
from fairret.cli.app import app
from fairret.errors import ArgumentError
from people import people

USUAL = ("--score", "p", "--label", "y", "--sensitive", "sex", "--notion", "pr")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    people(1100).to_csv(tmp_path / "in.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def unread(monkeypatch):
    """Fail if rows are read."""

    def refuse(*arguments, **options):
        raise AssertionError("the file was read")

    monkeypatch.setattr(command, "audit", refuse)


def run(*options, usual=USUAL):
    return CliRunner().invoke(app, ["audit", "in.csv", *usual, *options])


def assert_refused(result, message):
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert re.search(message, result.stderr)


@pytest.mark.usefixtures("unread")
@pytest.mark.parametrize("option", ["--report", "--output"])
@pytest.mark.parametrize("name", ["in.csv", "./in.csv", "link", "hard"])
def test_input_is_never_overwritten(option, name, folder):
    (folder / "link").symlink_to("in.csv")
    os.link("in.csv", "hard")
    content = (folder / "in.csv").read_bytes()
    assert_refused(run(option, name), "must be another file than the input")
    assert (folder / "in.csv").read_bytes() == content
    assert (folder / "link").is_symlink()


@pytest.mark.usefixtures("unread")
@pytest.mark.parametrize("option", ["--report", "--output"])
def test_second_input_is_never_overwritten(option, folder):
    people(1100).to_csv(folder / "two.csv", index=False)
    assert_refused(run("two.csv", option, "two.csv"), "another file than the input")


@pytest.mark.usefixtures("folder", "unread")
@pytest.mark.parametrize("option", ["--report", "--output"])
@pytest.mark.parametrize("target", ["no/report.html", ".", "in.csv/report.html"])
def test_path_that_cannot_be_written_is_refused_before_reading(option, target):
    assert_refused(run(option, target), "folder that exists and can be written")


@pytest.mark.skipif(
    not getattr(os, "geteuid", int)(), reason="nothing is forbidden to root"
)
@pytest.mark.usefixtures("unread")
def test_file_that_may_not_be_written_is_refused(folder):
    (folder / "old.html").touch(mode=0o400)
    assert_refused(run("--report", "old.html"), "must not be written")


@pytest.mark.usefixtures("folder", "unread")
@pytest.mark.parametrize(
    ("options", "required"),
    [
        (("--max-violation", "inf"), "at least 0 and below 2"),
        (("--fail-above", "nan"), "at least 0 and below 2"),
        (("--max-violation", "1.2", "--min-ratio", "0"), "a share between 0 and 1"),
        (("--max-violation", "20"), "at least 0 and below 2"),
    ],
)
def test_limit_out_of_range_is_refused_before_reading(options, required):
    assert_refused(run(*options), f"must be {required}; got ")


@pytest.mark.usefixtures("folder", "unread")
def test_gate_without_notions_is_refused_before_reading():
    usual = USUAL[:-2]
    assert_refused(run("--fail-above", "0.2", usual=usual), "must name its notions")


def test_results_are_printed_before_files_are_written(folder, monkeypatch):
    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(report, "write_whole", full)
    result = run("--report", "report.html")
    assert result.exit_code == 2
    assert "Demographic parity: beyond chance." in result.stdout
    assert "No space left on device" in result.stderr
    assert not (folder / "report.html").exists()


def test_output_is_the_json_of_the_audit(folder):
    (folder / "old.json").write_text("old")
    (folder / "out.json").symlink_to("old.json")
    result = run("--output", "out.json", "--max-violation", "0.9")
    assert result.exit_code == 0
    assert result.stderr == "JSON written to out.json\n"
    text = (folder / "old.json").read_text(encoding="utf-8")
    assert (folder / "out.json").is_symlink()
    read = json.loads(text)
    assert read["gate"]["passed"] is True
    expected = fairret.audit(
        "in.csv", score="p", label="y", sensitive="sex", notions=["pr"]
    ).to_dict()
    assert read["notions"] == expected["notions"]
    assert sorted(x.name for x in folder.iterdir()) == [
        "in.csv",
        "old.json",
        "out.json",
    ]


def test_failed_write_leaves_the_old_file_and_no_other(tmp_path, monkeypatch):
    target = tmp_path / "page.html"
    target.write_text("old")
    with pytest.raises(UnicodeEncodeError):
        write_whole(target, "new \ud800")  # half a character
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]

    def refuse(*paths):
        raise PermissionError

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(PermissionError):
        write_whole(target, "new")
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_written_files_have_the_usual_mode(tmp_path):
    (tmp_path / "usual").touch()
    write_whole(tmp_path / "page.html", "new")
    modes = {path.stat().st_mode for path in tmp_path.iterdir()}
    assert len(modes) == 1


def test_devices_and_pipes_are_written_and_not_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    check_target(pipe, [])
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_whole(pipe, "text")
    assert os.read(reader, 10) == b"text"
    os.close(reader)
    assert pipe.is_fifo()


def test_call_refuses_to_overwrite_its_input(folder):
    audit = fairret.audit("in.csv", score="p", sensitive="sex")
    content = (folder / "in.csv").read_bytes()
    with pytest.raises(ArgumentError, match="must be another file than the input"):
        audit.to_html(folder / "in.csv")
    assert (folder / "in.csv").read_bytes() == content


@pytest.mark.usefixtures("folder")
def test_gate_has_exit_code_1_and_says_why():
    failed = run("--fail-above", "0.05")
    assert failed.exit_code == 1
    assert re.fullmatch(
        r"fairret: Demographic parity: violated; the largest violation is .*% \(95% "
        r"interval .*% to .*%, limit 5.0%\)\.\n",
        failed.stderr,
    )
    text = run().stdout
    assert failed.stdout.startswith(text.rstrip())
    assert "\nGate (evidence): not passed\n✗ Demographic parity: violated" in (
        failed.stdout
    )
    passed = run("--max-violation", "0.9", "--gate", "assurance")
    assert passed.exit_code == 0
    assert passed.stderr == ""
    assert "Gate (assurance): passed\n✓ Demographic parity: within" in passed.stdout
    machine = run("--max-violation", "0.05", "--min-ratio", "0.9", "--json")
    assert machine.exit_code == 1
    gate = json.loads(machine.stdout)["gate"]
    assert [x["status"] for x in gate["outcomes"]] == ["violated"] * 2
    assert machine.stderr.count("\n") == 2


def test_gate_fails_where_nobody_is_counted(folder):
    people(1100).assign(y=0).to_csv(folder / "in.csv", index=False)
    usual = (*USUAL[:-1], "tpr")
    for mode in ("evidence", "assurance", "estimate"):
        result = run("--fail-above", "0.2", "--gate", mode, usual=usual)
        assert result.exit_code == 1
        assert "not measurable, which is not a pass" in result.stderr


def shell(command, folder):
    paths = [str(Path(fairret.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    python = f"{sys.executable} -c 'from fairret.cli import main; main()'"
    return subprocess.run(
        ["bash", "-c", command.replace("fairret", python, 1)],
        cwd=folder,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        timeout=120,
        check=False,
    )


AUDIT = f"fairret audit in.csv {' '.join(USUAL)} --sensitive race"


@pytest.mark.process
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("options", ["", "--json --fail-above 0.05"])
def test_full_disk_has_exit_code_2(options, folder):
    result = shell(f"{AUDIT} {options} > /dev/full", folder)
    assert result.returncode == 2
    assert result.stderr.startswith("fairret: The result cannot be written to standard")
    assert "Traceback" not in result.stderr


@pytest.mark.process
def test_closed_output_has_exit_code_2(folder):
    result = shell(f"{AUDIT} >&-", folder)
    assert result.returncode == 2
    assert "standard output is closed" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.process
@pytest.mark.parametrize(
    ("options", "code"), [("--json --fail-above 0.05", 1), ("--fail-above 0.9", 0)]
)
def test_reader_that_leaves_early_changes_no_exit_code(options, code, folder):
    result = shell(f"{AUDIT} {options} | true; exit ${{PIPESTATUS[0]}}", folder)
    assert result.returncode == code
    assert "Traceback" not in result.stderr
    assert "Broken" not in result.stderr


@pytest.mark.process
def test_first_line_is_enough_for_head(folder):
    result = shell(f"{AUDIT} --json | head -1; exit ${{PIPESTATUS[0]}}", folder)
    assert (result.returncode, result.stdout) == (0, "{\n")
    assert result.stderr == ""


def test_crash_has_not_the_exit_code_of_the_gate(monkeypatch, capsys, folder):
    from fairret.cli import main

    def crash(*arguments, **options):
        raise ZeroDivisionError

    monkeypatch.setattr(command, "audit", crash)
    monkeypatch.setattr(sys, "argv", ["fairret", "audit", "in.csv", *USUAL])
    with pytest.raises(SystemExit) as found:
        main()
    assert found.value.code == 2
    assert "ZeroDivisionError" in capsys.readouterr().err
