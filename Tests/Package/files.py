"""Checks the files from which scripts/package makes the packages: the unit, the maintainer scripts, the articles of the
handbook, and the man pages and completions that the programs print.

  python3 Tests/Package/files.py PROGRAMS    the folder of both programs
"""
import pathlib, re, shutil, subprocess, sys, tempfile

root = pathlib.Path(__file__).resolve().parent.parent.parent
debian = root / "scripts/debian"
programs = pathlib.Path(sys.argv[1]).resolve()
problems = []


def check(condition, text):
    if not condition:
        problems.append(text)


def run(*command, input=None):
    return subprocess.run([str(word) for word in command], input=input, capture_output=True, text=True)


def quiet(name, *command, input=None):
    """Runs a tool that must succeed and print nothing. `systemd-analyze verify` returns 0 for unknown settings."""
    if not shutil.which(str(command[0])):
        sys.exit(f"package: {command[0]} is missing; scripts/setup --tests installs it")
    result = run(*command, input=input)
    printed = result.stdout + result.stderr
    check(result.returncode == 0 and not printed.strip(), f"{name}: {command[0]} returned {result.returncode}: {printed}")


with tempfile.TemporaryDirectory() as folder:
    # The unit names the program of an installed package.
    text = (debian / "fieldvault-server.service").read_text()
    check("ExecStart=/usr/bin/fieldvault-server serve --config /etc/fieldvault/server.conf\n" in text, "unit: another program")
    unit = pathlib.Path(folder) / "fieldvault-server.service"
    unit.write_text(text.replace("/usr/bin/fieldvault-server", f"{programs}/fieldvault-server"))
    quiet("unit", "systemd-analyze", "verify", "--man=no", unit)
    # A tenth of a point is 1 here. The issue asks for 3.6 or better.
    exposure = run("systemd-analyze", "security", "--offline=yes", "--threshold=36", unit)
    summary = exposure.stdout.strip().split("\n")[-1]
    check(exposure.returncode == 0, f"unit: {summary}")
    print(summary)

    for name in ["preinst", "postinst", "prerm", "postrm"]:
        script = (debian / f"fieldvault-server.{name}").read_text().replace(
            "#FUNCTIONS#\n", (debian / "functions").read_text())
        quiet(name, "sh", "-n", input=script)

    settings = pathlib.Path(folder) / "server.conf"
    settings.write_text((debian / "server.conf").read_text().replace("/var/lib/fieldvault/data", f"{folder}/data"))
    result = run(programs / "fieldvault-server", "serve", "--config", settings, "--listen", "127.0.0.1:0", "--check")
    check(result.returncode == 0, f"server.conf: {result.stderr}")

for name in ["fieldvault", "fieldvault-server"]:
    page = run(programs / name, "manual").stdout
    check(page.replace("\\-", "-").startswith(f'.TH "{name.upper()}" "1"'), f"{name}: no man page")
    quiet(f"man page of {name}", "groff", "-man", "-Tutf8", "-ww", "-z", input=page)
    for shell, options in [("bash", ["-n"]), ("zsh", ["-n"]), ("fish", ["--no-execute"])]:
        script = run(programs / name, "completions", shell).stdout
        check(name in script, f"{name}: no completions for {shell}")
        if shutil.which(shell):
            quiet(f"completions of {name}", shell, *options, "/dev/stdin", input=script)

# Each article of the handbook is in a package, and each name in the lists is an article.
lists = dict(re.findall(r"^(operators|users)=\(([^)]*)\)$", (root / "scripts/package").read_text(), re.MULTILINE))
listed = {name for names in lists.values() for name in names.split()}
articles = {path.stem for path in (root / "Sources/FieldVault/FieldVault.docc").glob("*.md")}
check(len(lists) == 2, "scripts/package: no lists of articles for operators and users")
check(articles <= listed, f"scripts/package: no package has the articles {sorted(articles - listed)}")
check(listed <= articles, f"scripts/package: unknown articles {sorted(listed - articles)}")

for problem in problems:
    print(f"package: {problem}", file=sys.stderr)
print(f"files of the packages: {len(problems)} problems")
sys.exit(1 if problems else 0)
