"""Installs the packages of WORK/old and WORK/new into roots of their own, and uses them. See Tests/Package/run."""
import json, os, pathlib, re, shlex, shutil, signal, socket, stat, subprocess, sys, time, urllib.request

work = pathlib.Path(sys.argv[1]).resolve()
sources = pathlib.Path(__file__).resolve().parent.parent.parent


class Failure(Exception):
    pass


def expect(condition, text):
    if not condition:
        raise Failure(text)


def run(*command, status=0, input=None, env=None):
    """Runs a command, which must return the status. Returns its output, that of errors last."""
    result = subprocess.run([str(word) for word in command], input=input, capture_output=True, text=True, env=env)
    text = result.stdout + result.stderr
    expect(result.returncode == status, f"{shlex.join(map(str, command))} returned {result.returncode}: {text}")
    return text


def output(*command):
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True).stdout


def package(folder, name):
    [path] = (work / folder).glob(f"{name}_*.deb")
    return path


def field(path, name):
    return output("dpkg-deb", "-f", path, name).strip()


def step(text):
    print(f"== {text}", flush=True)


class Root:
    """A clean root: the database of dpkg, and the users of a new system."""

    def __init__(self, name):
        self.path = work / name
        for folder in ["var/lib/dpkg/info", "var/lib/dpkg/updates", "var/lib/dpkg/triggers", "etc", "var/backups"]:
            (self.path / folder).mkdir(parents=True)
        (self.path / "var/lib/dpkg/status").touch()
        (self.path / "etc/passwd").write_text("root:x:0:0:root:/root:/bin/bash\n")
        (self.path / "etc/group").write_text("root:x:0:\n")
        self.before = self.files()
        self.config = self.path / "etc/fieldvault/server.conf"
        self.data = self.path / "var/lib/fieldvault/data"
        self.backups = self.path / "var/backups/fieldvault"

    def files(self):
        return {str(path.relative_to(self.path)) for path in self.path.rglob("*") if not path.is_dir()}

    def dpkg(self, *arguments, status=0):
        # The libraries of the packages are those of this machine, not of the root.
        return run(
            "dpkg", f"--root={self.path}", "--force-depends", "--force-script-chrootless", "--force-confold", "--log=/dev/null",
            *arguments, status=status)

    def state(self, name):
        text = output("dpkg-query", f"--admindir={self.path}/var/lib/dpkg", "-W", "-f", "${Status} ${Version}", name)
        return text.strip()

    def program(self, name):
        return self.path / "usr/bin" / name

    @property
    def user(self):
        status = os.stat(self.path / "var/lib/fieldvault")
        return status.st_uid, status.st_gid

    def as_user(self):
        uid, gid = self.user
        return ["setpriv", "--reuid", str(uid), "--regid", str(gid), "--clear-groups"]

    def admin(self, *arguments, status=0):
        """Runs a command of the server as its user."""
        return run(*self.as_user(), self.program("fieldvault-server"), *arguments, "--config", self.config, status=status)

    def configure(self, port):
        text = self.config.read_text()
        text = text.replace("data = /var/lib/fieldvault/data", f"data = {self.data}")
        text = text.replace("#schema = restoration", "schema = restoration")
        text = text.replace("listen = 127.0.0.1:8787", f"listen = 127.0.0.1:{port}")
        text = text.replace("#admin-listen = 127.0.0.1:9464", f"admin-listen = 127.0.0.1:{port + 1}")
        self.config.write_text(text)


class Server:
    """The server, started as systemd starts it: as its user, with a socket for notifications."""

    def __init__(self, root, port, address=None, prefix=()):
        self.port = port
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        path = root.path / "notify"
        path.unlink(missing_ok=True)
        self.socket.bind(address or str(path))
        if not address:
            path.chmod(0o777)
        notify = "@" + address[1:] if address else str(path)
        words = [*prefix, *root.as_user(), root.program("fieldvault-server"), "serve", "--config", root.config, "--quiet"]
        self.log = open(root.path / "server.log", "w")
        self.process = subprocess.Popen(
            [str(word) for word in words], env={"NOTIFY_SOCKET": notify, "PATH": "/usr/bin:/bin"}, stdout=self.log,
            stderr=subprocess.STDOUT, umask=0o077)
        self.log_path = root.path / "server.log"
        self.expect_message("READY=1")
        # The port answers at once when the message has come.
        self.get("/v1/ready")

    def get(self, path):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=5) as response:
            expect(response.status == 200, f"{path}: {response.status}")

    def expect_message(self, first, seconds=60):
        self.socket.settimeout(seconds)
        try:
            message = self.socket.recv(4096).decode()
        except TimeoutError:
            raise Failure(f"no message {first}: {self.log_path.read_text()}") from None
        expect(message.split("\n")[0] == first, f"{message!r} in place of {first}")
        return message

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.expect_message("STOPPING=1")
        expect(self.process.wait(60) == 0, f"the server returned {self.process.returncode}: {self.log_path.read_text()}")
        self.log.close()
        self.socket.close()


def free_port():
    """A port with a free one after it."""
    while True:
        with socket.socket() as first, socket.socket() as second:
            first.bind(("127.0.0.1", 0))
            port = first.getsockname()[1]
            try:
                second.bind(("127.0.0.1", port + 1))
                return port
            except OSError:
                continue


class Device:
    """A vault; a new one, unless the folder has one of an earlier version."""

    def __init__(self, root, folder, url, token, vault="device.vault"):
        self.program = root.program("fieldvault")
        self.vault = folder / vault
        self.passphrase = work / "passphrase"
        if self.vault.exists():
            self("migrate", "apply")
        else:
            self("init", "--schema", "restoration", "--quiet")
        file = folder / f"{self.vault.name}.token"
        file.write_text(token + "\n")
        file.chmod(0o600)
        self("remote", "set", url, "--token-file", file, "--quiet")

    def __call__(self, *arguments, status=0):
        return run(
            self.program, *arguments, "--vault", self.vault, "--passphrase-file", self.passphrase, status=status,
            env={"PATH": "/usr/bin:/bin", "HOME": str(work), "LC_ALL": "C.UTF-8"})


# MARK: What is in the packages


def check_content(path):
    name = field(path, "Package")
    listed = output("dpkg-deb", "-c", path).strip().split("\n")
    names = set()
    for line in listed:
        mode, owner, _, _, _, file = line.split(maxsplit=5)
        expect(owner == "root/root", f"{file} belongs to {owner}")
        expect(mode[5] != "w" and mode[8] != "w" and "s" not in mode.lower().removeprefix("-"), f"{file} has the mode {mode}")
        names.add(file.removeprefix(".").rstrip("/"))
    required = {
        f"/usr/bin/{name}", f"/usr/share/man/man1/{name}.1.gz", f"/usr/share/bash-completion/completions/{name}",
        f"/usr/share/zsh/vendor-completions/_{name}", f"/usr/share/fish/vendor_completions.d/{name}.fish",
        f"/usr/share/doc/{name}/copyright", f"/usr/share/doc/{name}/changelog.Debian.gz", f"/usr/share/doc/{name}/{name}.cdx.json",
    }
    if name == "fieldvault-server":
        required |= {
            "/usr/lib/systemd/system/fieldvault-server.service", "/usr/lib/sysusers.d/fieldvault-server.conf",
            "/etc/fieldvault/server.conf", "/usr/share/doc/fieldvault-server/handbook/Installing.md",
        }
        expect(not any(file.startswith("/var") for file in names), "the package owns a folder of data")
    expect(required <= names, f"{name} lacks {sorted(required - names)}")
    expect("libsqlcipher1 (>= 4.5.7)" in field(path, "Depends"), f"Depends: {field(path, 'Depends')}")
    expect("git" in field(path, "Version") or re.match(r"[\d.]+-1$", field(path, "Version")), field(path, "Version"))

    unpacked = work / f"{name}-content"
    run("dpkg-deb", "-R", path, unpacked)
    sums = subprocess.run(["md5sum", "--quiet", "-c", "DEBIAN/md5sums"], cwd=unpacked, capture_output=True, text=True)
    expect(sums.returncode == 0, sums.stdout + sums.stderr)
    needed = set()
    for file in unpacked.rglob("*"):
        if file.is_file() and file.read_bytes()[:4] == b"\x7fELF":
            text = output("readelf", "-d", file)
            expect("PATH)" not in text, f"{file.name} has a search path of its own: {text}")
            content = file.read_bytes()
            for folder in [str(sources), os.path.dirname(os.path.dirname(os.path.realpath(shutil.which("swift"))))]:
                expect(folder.encode() not in content, f"{file.name} names the folder {folder} of the build")
            needed |= set(re.findall(r"\(NEEDED\).*\[(.+)\]", text))
            expect(not any("swift" in library for library in needed), f"{file.name} needs the Swift library: {needed}")
    changelog = output("gzip", "-dc", unpacked / f"usr/share/doc/{name}/changelog.Debian.gz")
    expect(changelog.startswith(f"{name} ({field(path, 'Version')}) "), changelog[:100])
    parsed = subprocess.run(["dpkg-parsechangelog", "--all", "-l-"], input=changelog, capture_output=True, text=True)
    expect(parsed.returncode == 0 and not parsed.stderr, parsed.stderr)
    page = subprocess.run(
        ["man", "--warnings", "-l", unpacked / f"usr/share/man/man1/{name}.1.gz"], capture_output=True, text=True,
        env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "MANWIDTH": "80"})
    expect(page.returncode == 0 and not page.stderr and "EXIT STATUS" in page.stdout, f"man page: {page.stderr}")
    check_bill(json.loads((unpacked / f"usr/share/doc/{name}/{name}.cdx.json").read_text()), name, field(path, "Version"), needed)


package_urls = [
    re.compile(r"pkg:deb/[a-z]+/[a-z0-9.+-]+@[^?]+\?arch=[a-z0-9]+&distro=[a-z]+-[\d.]+"),
    re.compile(r"pkg:github/swiftlang/[a-z-]+@swift-[\w.-]+"),
]


def check_bill(bill, name, version, needed):
    """The required members of CycloneDX 1.5, package URLs, and each library that the programs need."""
    expect(bill["bomFormat"] == "CycloneDX" and bill["specVersion"] == "1.5" and bill["version"] == 1, "the SBOM has another form")
    expect(re.fullmatch(r"urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", bill["serialNumber"]), bill["serialNumber"])
    subject = bill["metadata"]["component"]
    expect((subject["type"], subject["name"], subject["version"]) == ("application", name, version), subject)
    expect(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", bill["metadata"]["timestamp"]), bill["metadata"])
    references, names = [], set()
    for component in bill["components"]:
        expect(component["type"] == "library" and component["name"] and component["version"], component)
        expect(any(form.fullmatch(component["purl"]) for form in package_urls), component["purl"])
        references.append(component["bom-ref"])
        names |= {item["value"] for item in component["properties"] if item["name"] == "fieldvault:soname"}
        if component["purl"].startswith("pkg:deb"):
            expect(output("dpkg-query", "-W", "-f", "${Version}", component["name"]) == component["version"], component)
    expect(len(set(references)) == len(references), "a component appears twice")
    expect(bill["dependencies"] == [{"ref": subject["bom-ref"], "dependsOn": references}], bill["dependencies"])
    expect(names == needed, f"the SBOM has {sorted(names)}, the programs need {sorted(needed)}")
    swift = {component["name"] for component in bill["components"] if component["purl"].startswith("pkg:github")}
    expect({"swift", "swift-foundation", "swift-corelibs-libdispatch"} <= swift, swift)


def check_system_calls(root, port, first, second):
    """The server makes no system call that its unit refuses, also while devices sync a record and a photo."""
    if not shutil.which("strace"):
        sys.exit("package: strace is missing; scripts/setup --tests installs it")
    sets = {}
    for line in output("systemd-analyze", "syscall-filter").split("\n"):
        if line.startswith("@"):
            members = sets.setdefault(line.strip(), set())
        elif line.startswith("    ") and not line.strip().startswith("#"):
            members.add(line.strip())

    def expanded(name):
        return {name} if not name.startswith("@") else set().union(*(expanded(member) for member in sets[name]))

    allowed = set()
    for line in (root.path / "usr/lib/systemd/system/fieldvault-server.service").read_text().split("\n"):
        if line.startswith("SystemCallFilter="):
            words = line.removeprefix("SystemCallFilter=")
            found = set().union(*(expanded(word) for word in words.removeprefix("~").split()))
            allowed = allowed - found if words.startswith("~") else allowed | found
    trace = root.path / "trace"
    server = Server(root, port, prefix=["strace", "-f", "-qq", "-o", trace])
    record = first("put", "Project", "title=2 Oak Lane").split("\n")[0]
    first("attach", "add", "Project", record, sources / "Tests/Data/rocket.jpg")
    first("sync")
    second("sync")
    expect("2 Oak Lane" in second("list", "Project"), "the record is missing")
    # strace forwards no signal that it receives itself.
    child = int(output("pgrep", "-P", str(server.process.pid)).split()[0])
    os.kill(child, signal.SIGHUP)
    server.expect_message("RELOADING=1")
    server.expect_message("READY=1")
    os.kill(child, signal.SIGTERM)
    server.expect_message("STOPPING=1")
    expect(server.process.wait(60) == 0, "the server failed below strace")
    # The calls before the program itself runs belong to setpriv.
    lines = trace.read_text().split("\n")
    start = max(index for index, line in enumerate(lines) if " execve(" in line)
    calls = {match[1] for line in lines[start:] if (match := re.match(r"\d+ +(\w+)\(", line))}
    expect(calls <= allowed | {"execve"}, f"the unit refuses {sorted(calls - allowed)}")
    trace.unlink()
    print(f"{len(calls)} system calls, all allowed by the unit")


def health_command(port):
    text = (sources / "scripts/container/Containerfile").read_text()
    command = json.loads(re.search(r"HEALTHCHECK[^[]*CMD (\[.*\])", text)[1])
    return [word.replace("/9464", f"/{port + 1}") for word in command]


# MARK: The life of an installation


def main():
    (work / "passphrase").write_text("correct horse battery staple\n")
    (work / "passphrase").chmod(0o600)
    old, new = field(package("old", "fieldvault-server"), "Version"), field(package("new", "fieldvault-server"), "Version")
    expect(subprocess.run(["dpkg", "--compare-versions", old, "lt", new]).returncode == 0, f"{old} is not before {new}")

    step("Content of the packages")
    for name in ["fieldvault", "fieldvault-server"]:
        check_content(package("new", name))

    step("Installation of the previous version in a clean root")
    root, port = Root("root"), free_port()
    text = root.dpkg("-i", package("old", "fieldvault"), package("old", "fieldvault-server"))
    expect("systemctl enable --now fieldvault-server" in text, text)
    expect(root.state("fieldvault-server") == f"install ok installed {old}", root.state("fieldvault-server"))
    status = os.stat(root.path / "var/lib/fieldvault")
    expect(status.st_uid != 0 and stat.S_IMODE(status.st_mode) == 0o700, f"the state folder: {status}")
    expect(f"fieldvault:x:{status.st_uid}:{status.st_gid}:" in (root.path / "etc/passwd").read_text(), "no user fieldvault")
    expect(os.stat(root.backups).st_uid == status.st_uid, "the folder of backups has another owner")
    root.configure(port)
    settings = root.config.read_text()

    step("The server tells its service manager that it listens, reloads and stops")
    server = Server(root, port)
    server.process.send_signal(signal.SIGHUP)
    server.expect_message("RELOADING=1")
    server.expect_message("READY=1")
    run(*health_command(port))
    server.stop()
    run(*health_command(port), status=1)
    abstract = Server(root, port, address=f"\0fieldvault-{os.getpid()}")
    abstract.stop()

    step("Two devices sync")
    server = Server(root, port)
    url = f"http://127.0.0.1:{port}"
    tokens = {name: root.admin("user", "add", name, "--account", "water", "--quiet").strip() for name in ["ada", "bo"]}
    devices = {}
    for name, token in tokens.items():
        (work / name).mkdir()
        devices[name] = Device(root, work / name, url, token)
    devices["ada"]("put", "Project", "title=14 Elm Street")
    expect("Sent 1." in devices["ada"]("sync"), "nothing was sent")
    expect("Fetched 1." in devices["bo"]("sync"), "nothing was fetched")
    expect("14 Elm Street" in devices["bo"]("list", "Project"), "the record is missing")
    expect("14 Elm Street" in devices["bo"]("shell", "--command", "SELECT title FROM OfflineProject"), "the shell failed")

    step("The sandbox of the unit permits the system calls of the server")
    server.stop()
    check_system_calls(root, port, devices["ada"], devices["bo"])
    server = Server(root, port)

    step("An upgrade that cannot back up changes nothing")
    root.backups.rename(root.path / "moved")
    root.backups.write_text("not a folder")
    text = root.dpkg("-i", package("new", "fieldvault-server"), status=1)
    expect(f"could not be backed up to {root.backups}, so version {old} stays installed" in text, text)
    expect(root.state("fieldvault-server") == f"install ok installed {old}", root.state("fieldvault-server"))
    server.get("/v1/ready")
    root.backups.unlink()
    (root.path / "moved").rename(root.backups)

    step("An upgrade while the server runs takes a backup")
    devices["ada"]("put", "Project", "title=4 Birch Way")
    devices["ada"]("sync")
    text = root.dpkg("-i", package("new", "fieldvault-server"))
    [backup] = root.backups.iterdir()
    expect(f"backed up the data to {backup}" in text and "uses the data; restart it" in text, text)
    expect(backup.stat().st_uid == root.user[0] and stat.S_IMODE(backup.stat().st_mode) == 0o600, "the backup is readable")
    expect(root.state("fieldvault-server") == f"install ok installed {new}", root.state("fieldvault-server"))
    root.dpkg("-i", package("new", "fieldvault"))
    expect(root.config.read_text() == settings, "the upgrade changed the settings")
    server.stop()
    restored = root.path / "var/lib/fieldvault/restored"
    run(*root.as_user(), root.program("fieldvault-server"), "restore", backup, "--data", restored)
    run(*root.as_user(), root.program("fieldvault-server"), "verify", "--data", restored)
    owners = {path.stat().st_uid for path in (root.path / "var/lib/fieldvault").rglob("*")}
    expect(owners == {root.user[0]}, f"owners of the data: {owners}")
    server = Server(root, port)
    expect("Fetched 1." in devices["bo"]("sync"), "nothing was fetched after the upgrade")
    server.stop()

    step("Removal keeps the data")
    shutil.rmtree(restored)
    kept = {path: path.read_bytes() for path in [*root.data.rglob("*"), *root.backups.rglob("*")] if path.is_file()}
    root.dpkg("-r", "fieldvault-server", "fieldvault")
    expect(not root.program("fieldvault-server").exists() and not root.program("fieldvault").exists(), "a program is left")
    expect(root.config.read_text() == settings, "the settings are gone")
    expect(all(path.read_bytes() == content for path, content in kept.items()), "the removal changed data")

    step("An installation after a removal backs up and serves the data again")
    text = root.dpkg("-i", package("new", "fieldvault"), package("new", "fieldvault-server"))
    expect("backed up the data to" in text and len(list(root.backups.iterdir())) == 2, text)
    server = Server(root, port)
    devices["bo"]("put", "Project", "title=3 Ash Road")
    expect("Sent 1." in devices["bo"]("sync") and "Fetched 1." in devices["ada"]("sync"), "the devices do not sync")
    server.stop()

    step("Purging leaves only the data")
    text = root.dpkg("--purge", "fieldvault-server", "fieldvault")
    expect("kept /var/lib/fieldvault" in text and "kept /var/backups/fieldvault" in text, text)
    kept = ("var/lib/dpkg/", "var/lib/fieldvault/data/", "var/backups/fieldvault/")
    left = {name for name in root.files() - root.before if not name.startswith(kept)}
    known = {"etc/shadow", "etc/gshadow", "etc/passwd-", "etc/group-", "etc/.pwd.lock", "server.log", "notify"}
    expect(left <= known, f"left behind: {sorted(left - known)}")
    expect((root.data / "directory.db").exists(), "the data are gone")

    step("An upgrade over the data of version 0.3 migrates them")
    root, port = Root("second"), free_port()
    root.dpkg("-i", package("old", "fieldvault"), package("old", "fieldvault-server"))
    root.configure(port)
    stored = work / "stored"
    stored.mkdir()
    run("tar", "-xf", sources / "Tests/Data/0.3/store.tar", "-C", stored)
    shutil.copytree(stored / "data", root.data)
    run("chown", "-R", "{}:{}".format(*root.user), root.data)
    expect("account water: core" in root.admin("migrate", "--dry-run"), "the data of 0.3 have the newest schema")
    text = root.dpkg("-i", package("new", "fieldvault"), package("new", "fieldvault-server"))
    expect("backed up the data to" in text, text)
    expect("no pending files" in root.admin("migrate", "--dry-run"), "the upgrade did not migrate the data")
    root.admin("verify")
    [backup] = root.backups.iterdir()
    run(*root.as_user(), root.program("fieldvault-server"), "restore", backup, "--data", root.path / "var/lib/fieldvault/restored")
    server = Server(root, port)
    token = (stored / "token-a.vault").read_text().strip()
    device = Device(root, stored, f"http://127.0.0.1:{port}", token, vault="a.vault")
    expect("Sent" in device("sync", status=8), "the device of version 0.3 did not sync")
    server.stop()

    if os.getuid() == 0:
        step("A user without root installs into a root of its own")
        rootless = work / "rootless"
        rootless.mkdir()
        run("cp", "-r", work / "new", rootless / "new")
        run("chown", "-R", "65534:65534", rootless)
        script = """
            import os, pathlib, subprocess, sys
            root = pathlib.Path(sys.argv[1]) / "root"
            for folder in ["var/lib/dpkg/info", "var/lib/dpkg/updates", "var/lib/dpkg/triggers", "etc", "var/backups"]:
                (root / folder).mkdir(parents=True)
            (root / "var/lib/dpkg/status").touch()
            packages = [str(path) for path in (root.parent / "new").iterdir()]
            for arguments in [["-i", *packages], ["-i", *packages], ["--purge", "fieldvault-server", "fieldvault"]]:
                subprocess.run(["dpkg", f"--root={root}", "--force-depends", "--force-script-chrootless", "--force-not-root", "--log=/dev/null", *arguments], check=True)
        """
        run(
            "setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "python3", "-c",
            "\n".join(line.removeprefix(" " * 12) for line in script.split("\n")), rootless,
            env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": str(rootless)})


try:
    main()
except Failure as failure:
    sys.exit(f"package: {failure}")
print("The packages install, sync, upgrade with a backup, and leave the data when they are removed.")
