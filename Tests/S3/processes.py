"""A server, an object store that others wrote, and two devices as processes, of which some are killed. Called by Tests/S3/run
with the folder of the programs."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

HERE = pathlib.Path(__file__).parent
PROGRAMS = pathlib.Path(sys.argv[1])
PICTURE = HERE.parent / "Data" / "rocket.jpg"
ACCESS_KEY, SECRET, REGION, BUCKET = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "eu-central-1", "photos"


def check(what, holds):
    if not holds:
        sys.exit(f"Tests/S3: {what}")


class Store:
    def __init__(self):
        words = [sys.executable, str(HERE / "serve.py"), "0", BUCKET, ACCESS_KEY, SECRET, REGION]
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        self.url = f"http://127.0.0.1:{self.process.stdout.readline().split()[1]}"

    def gate(self, **wish):
        body = json.dumps(wish).encode() if wish else None
        with urllib.request.urlopen(urllib.request.Request(self.url + "/gate", data=body), timeout=30) as response:
            return json.load(response)


class Server:
    def __init__(self, folder, store):
        self.data, self.store = folder + "/data", store
        self.credentials = folder + "/s3.key"
        descriptor = os.open(self.credentials, os.O_WRONLY | os.O_CREAT, 0o600)
        os.write(descriptor, f"{ACCESS_KEY}\n{SECRET}\n".encode())
        os.close(descriptor)
        self.port = "0"
        self.start()

    def words(self, *more):
        return [str(PROGRAMS / "fieldvault-server"), "serve", "--data", self.data, "--listen", f"127.0.0.1:{self.port}",
                "--quiet", *more]

    def start(self):
        self.process = subprocess.Popen(
            self.words("--s3-endpoint", self.store.url, "--s3-bucket", BUCKET, "--s3-region", REGION,
                       "--s3-credentials", self.credentials), stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().split()[-1]
        self.port = self.url.rsplit(":", 1)[1]

    def kill(self):
        self.process.kill()
        self.process.wait()

    def token(self, name):
        words = [str(PROGRAMS / "fieldvault-server"), "user", "add", name, "--account", "water", "--data", self.data]
        return subprocess.run(words, check=True, capture_output=True, text=True).stdout


class Device:
    def __init__(self, folder, name, server):
        self.environment = os.environ | {
            "FIELDVAULT_VAULT": f"{folder}/{name}.vault", "FIELDVAULT_PASSPHRASE_FILE": f"{folder}/passphrase"}
        self.run("init", "--schema", "restoration")
        token = pathlib.Path(f"{folder}/{name}.token")
        token.write_text(server.token(name))
        self.run("remote", "set", server.url, "--token-file", str(token))

    def words(self, words):
        return [str(PROGRAMS / "fieldvault"), *words]

    def run(self, *words, codes=(0,)):
        done = subprocess.run(
            self.words(words), env=self.environment, capture_output=True, text=True, timeout=300, check=False)
        check(f"fieldvault {words[0]} ended with {done.returncode}: {done.stderr}", done.returncode in codes)
        return done.stdout

    def begin(self, *words):
        return subprocess.Popen(
            self.words(words), env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def rows(self, sql):
        return json.loads(self.run("query", sql, "--json"))

    def attach(self, project, path):
        return json.loads(self.run("attach", "add", "Project", project, str(path), "--json"))


def wait_for(what, condition):
    end = time.time() + 60
    while not condition():
        check(f"{what} does not come to pass", time.time() < end)
        time.sleep(0.05)


def uploads(device):
    return [row["uploadStatus"] for row in device.rows("SELECT uploadStatus FROM OfflinePhoto ORDER BY fileName")]


def main(folder):
    pathlib.Path(f"{folder}/passphrase").write_text("a passphrase for these tests only\n")
    store = Store()
    server = Server(folder, store)
    try:
        # The secret is in no argument and no environment, and a file that others may read is refused.
        for name in ("cmdline", "environ"):
            check("the secret can be seen by others",
                  SECRET.encode() not in pathlib.Path(f"/proc/{server.process.pid}/{name}").read_bytes())
        os.chmod(server.credentials, 0o644)
        s3 = ["--s3-endpoint", store.url, "--s3-bucket", BUCKET]
        refused = subprocess.run(
            server.words(*s3, "--s3-credentials", server.credentials), capture_output=True, text=True, check=False)
        check("a file that others may read is taken", refused.returncode == 1 and "chmod 600" in refused.stderr)
        os.chmod(server.credentials, 0o600)
        check("half of a description is taken", subprocess.run(
            server.words(*s3), capture_output=True, check=False).returncode == 2)

        ada, ben = Device(folder, "ada", server), Device(folder, "ben", server)
        project = json.loads(ada.run("put", "Project", "title=House", "--json"))["uuid"]
        ada.attach(project, PICTURE)
        ada.run("sync")
        check("the photo was not sent", uploads(ada) == ["completed"])
        state = store.gate()
        check(f"photo and thumbnail are not there: {state}", len(state["objects"]) == 2 and not state["refused"])
        ben.run("sync")
        photo = ben.rows("SELECT uuid FROM OfflinePhoto")[0]["uuid"]
        out = f"{folder}/out.jpg"
        # Not fetched yet: the export does it.
        ben.run("attach", "export", photo, out)
        check("another photo arrived", pathlib.Path(out).read_bytes() == PICTURE.read_bytes())
        print("a photo went through the object store to a second device")

        # Killed when the store has the file, and before the server was told.
        note = pathlib.Path(f"{folder}/note.txt")
        note.write_text("the first\n" * 10_000)
        ada.attach(project, note)
        before = store.gate(mode="hang")
        sync = ada.begin("sync")
        wait_for("the object", lambda: len(store.gate()["objects"]) == len(before["objects"]) + 1)
        sync.send_signal(signal.SIGKILL)
        sync.wait()
        store.gate(mode="pass")
        check("others see what is not confirmed", uploads(ada) != ["completed"] * 2)
        ada.run("sync")
        after = store.gate()
        check(f"it was sent twice: {after}", after["counts"]["PUT"] == before["counts"]["PUT"] + 1)
        check("it is not confirmed", uploads(ada) == ["completed"] * 2)
        print("a device that was killed between sending and confirming sends nothing twice")

        # The server is killed meanwhile, and what it was told before stays.
        note.write_text("the second\n" * 10_000)
        ada.attach(project, note)
        before = store.gate(mode="hang")
        sync = ada.begin("sync")
        wait_for("the object", lambda: len(store.gate()["objects"]) == len(before["objects"]) + 1)
        server.kill()
        store.gate(mode="pass")
        sync.wait(300)
        server.start()
        ada.run("sync")
        after = store.gate()
        check(f"it was sent twice: {after}", after["counts"]["PUT"] == before["counts"]["PUT"] + 1)
        check("it is not confirmed", uploads(ada) == ["completed"] * 3 and not after["refused"])
        ben.run("sync")
        check("the other device lacks records", len(ben.rows("SELECT uuid FROM OfflinePhoto")) == 3)
        print("a server that was killed before the confirmation confirms it after its start")
        server.process.send_signal(signal.SIGTERM)
        check("the server does not end in order", server.process.wait(60) == 0)
    finally:
        server.kill()
        store.process.kill()
        store.process.wait()


with tempfile.TemporaryDirectory(prefix="fieldvault-s3-") as place:
    main(place)
