"""The server of PyPI moto with one bucket, behind a gate of this project.

moto stores and gives objects as S3 does, and enforces nothing: no signature, no expiry, no length, no checksum. The gate does,
with botocore's own signer, which was written by others too: a request whose signature botocore would not have made is
refused as S3 refuses it. Without the gate (--plain) it is moto alone.

    serve.py PORT BUCKET ACCESS_KEY_ID SECRET REGION [--plain]

GET /gate tells what was asked; POST /gate with JSON changes what happens:
  {"mode": "pass"}           all is well
  {"mode": "unavailable"}    503 for everything
  {"mode": "failing"}        500 for everything
  {"mode": "cut"}            devices are cut off, and the server is not
  {"mode": "drop-response"}  the next PUT is stored, and its connection closes without a response
  {"mode": "hang"}           PUTs are stored, and the response waits until the mode changes
  {"tamper": true}           one byte of each object is another from now on
  {"lose": true}             all contents are gone
"""

import base64
import datetime
import hashlib
import io
import json
import logging
import os
import socket
import sys
import threading
import time
from urllib.parse import parse_qsl, quote, urlencode

from botocore.auth import S3SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
from werkzeug.serving import make_server
from werkzeug.test import Client

port, bucket, access_key, secret, region = int(sys.argv[1]), *sys.argv[2:6]
is_plain = "--plain" in sys.argv
store = DomainDispatcherApplication(create_backend_app)
inside = Client(store)
# moto takes what has an Authorization header for a request of the account.
trusted = {"Authorization": f"AWS4-HMAC-SHA256 Credential={access_key}/20260101/{region}/s3/aws4_request, "
                            "SignedHeaders=host, Signature=0", "Host": f"127.0.0.1:{port}"}
state = {"mode": "pass", "counts": {}, "refused": []}
lock = threading.Lock()


class Refused(Exception):
    def __init__(self, status, code):
        super().__init__(code)
        self.status, self.code = status, code


def respond(start_response, status, body, kind="application/json"):
    body = body.encode()
    start_response(status, [("Content-Type", kind), ("Content-Length", str(len(body)))])
    return [body]


def cut(environ):
    environ["werkzeug.socket"].shutdown(socket.SHUT_RDWR)
    raise ConnectionAbortedError


def check(environ, body):
    """Refuses what S3 would refuse."""
    query = parse_qsl(environ["QUERY_STRING"], keep_blank_values=True)
    values = dict(query)
    if "X-Amz-Signature" not in values:
        raise Refused("403 Forbidden", "AccessDenied")
    if values["X-Amz-Credential"].split("/")[0] != access_key:
        raise Refused("403 Forbidden", "InvalidAccessKeyId")
    begin = datetime.datetime.strptime(values["X-Amz-Date"], "%Y%m%dT%H%M%SZ").replace(tzinfo=datetime.timezone.utc)
    if time.time() > begin.timestamp() + int(values["X-Amz-Expires"]):
        raise Refused("403 Forbidden", "AccessDenied")
    names = values["X-Amz-SignedHeaders"].split(";")
    present = {key[5:].lower().replace("_", "-"): value for key, value in environ.items() if key.startswith("HTTP_")}
    for key in ("CONTENT_TYPE", "CONTENT_LENGTH"):
        if environ.get(key):
            present[key.lower().replace("_", "-")] = environ[key]
    for name in present:
        # What a store acts on has to be signed.
        if (name.startswith("x-amz-") or name == "content-type") and name not in names:
            raise Refused("403 Forbidden", "AccessDenied")
    unsigned = [(name, value) for name, value in query if name != "X-Amz-Signature"]
    url = f"http://{environ['HTTP_HOST']}{quote(environ['PATH_INFO'])}?{urlencode(unsigned, quote_via=quote)}"
    headers = {name: present.get(name, "") for name in names}
    request = AWSRequest(environ["REQUEST_METHOD"], url, headers=headers)
    request.context["timestamp"] = values["X-Amz-Date"]
    signer = S3SigV4QueryAuth(Credentials(access_key, secret), "s3", region)
    text = signer.string_to_sign(request, signer.canonical_request(request))
    if signer.signature(text, request) != values["X-Amz-Signature"]:
        raise Refused("403 Forbidden", "SignatureDoesNotMatch")
    expected = present.get("x-amz-checksum-sha256")
    if expected and base64.b64encode(hashlib.sha256(body).digest()).decode() != expected:
        raise Refused("400 Bad Request", "BadDigest")


def objects():
    import xmltodict

    listed = xmltodict.parse(inside.get(f"/{bucket}?list-type=2", headers=trusted).data)["ListBucketResult"]
    found = listed.get("Contents") or []
    keys = [entry["Key"] for entry in (found if isinstance(found, list) else [found])]
    # The markers of the accounts are no contents.
    return [key for key in keys if "marker-" not in key]


def control(environ, start_response):
    if environ["REQUEST_METHOD"] == "POST":
        wish = json.loads(environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"])))
        with lock:
            state["mode"] = wish.get("mode", state["mode"])
        for key in objects() if wish.get("tamper") or wish.get("lose") else []:
            if wish.get("lose"):
                inside.delete(f"/{bucket}/{key}", headers=trusted)
                continue
            content = bytearray(inside.get(f"/{bucket}/{key}", headers=trusted).data)
            content[len(content) // 2] ^= 1
            inside.put(f"/{bucket}/{key}", data=bytes(content), headers=trusted)
    with lock:
        return respond(start_response, "200 OK", json.dumps({**state, "objects": objects()}))


def application(environ, start_response):
    if environ["PATH_INFO"] == "/gate":
        return control(environ, start_response)
    method = environ["REQUEST_METHOD"]
    body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
    environ["wsgi.input"] = io.BytesIO(body)
    with lock:
        mode = state["mode"]
        if "marker-" not in environ["PATH_INFO"]:
            state["counts"][method] = state["counts"].get(method, 0) + 1
    if mode == "unavailable":
        return respond(start_response, "503 Slow Down", "<Error><Code>SlowDown</Code></Error>", "application/xml")
    if mode == "failing":
        return respond(start_response, "500 Error", "<Error><Code>InternalError</Code></Error>", "application/xml")
    if mode == "cut" and method in ("PUT", "GET"):
        cut(environ)
    if not is_plain:
        try:
            check(environ, body)
        except Refused as refusal:
            with lock:
                state["refused"].append(refusal.code)
            return respond(
                start_response, refusal.status, f"<Error><Code>{refusal.code}</Code></Error>", "application/xml")
    body_parts = store(environ, start_response)
    if method == "PUT" and mode == "drop-response":
        with lock:
            state["mode"] = "pass"
        list(body_parts)
        cut(environ)
    if method == "PUT" and mode == "hang":
        while state["mode"] == "hang":
            time.sleep(0.02)
    return body_parts


def end_with(parent):
    """Nobody is left behind when the tests are killed."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(0)


class Handler(MotoRequestHandler):
    def log(self, *_):
        pass


threading.Thread(target=end_with, args=(os.getppid(),), daemon=True).start()
logging.disable(logging.CRITICAL)
place = f"<CreateBucketConfiguration><LocationConstraint>{region}</LocationConstraint></CreateBucketConfiguration>"
if inside.put(f"/{bucket}", data=place, headers=trusted).status_code != 200:
    sys.exit("the bucket could not be made")
server = make_server("127.0.0.1", port, application, threaded=True, request_handler=Handler)
print(f"ready {server.server_port}", flush=True)
server.serve_forever()
