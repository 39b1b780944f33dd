"""Clients of tus that were written by others, against fieldvault-server. Called by Tests/Tus/run with the program."""

import asyncio
import io
import logging
import pathlib
import subprocess
import sys
import tempfile
import uuid

import aiohttp
import aiotus
import requests
import yarl
from cutting_link import CuttingLink, generator
from tusclient import client as tuspy
from tusclient.exceptions import TusCommunicationError

DATA = pathlib.Path(__file__).parent.parent / "Data"
PICTURES = [DATA / "rocket.jpg", DATA / "retina.jpg"]


class Server:
    """A server in a folder of its own, seen through the link."""

    def __init__(self, program, folder, link):
        self.data = folder + "/data"
        words = [program, "user", "add", "ada", "--data", self.data, "--quiet"]
        token = subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip()
        self.headers = {"Authorization": f"Bearer {token}"}
        self.url = f"http://127.0.0.1:{link.port}"
        words = [program, "serve", "--data", self.data, "--listen", "127.0.0.1:0", "--public-url", self.url, "--quiet"]
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        link.target = int(self.process.stdout.readline().rsplit(":", 1)[1])

    def fetch(self, content, variant="full", **headers):
        return requests.get(f"{self.url}/v1/files/{content}/{variant}", headers=self.headers | headers, timeout=60)

    def stop(self):
        self.process.terminate()
        return self.process.wait(60)


def metadata(content, variant="full"):
    return {"content": content, "variant": variant, "filename": "../../köln.jpg"}


def check(what, holds):
    if not holds:
        sys.exit(f"Tests/Tus: {what}")


def check_stored(server, content, expected, variant="full"):
    """Whole, and in two parts, as a client that goes on does."""
    whole = server.fetch(content, variant)
    check(f"{content} is {whole.status_code}, or other bytes", whole.status_code == 200 and whole.content == expected)
    middle = len(expected) // 3
    first = server.fetch(content, variant, Range=f"bytes=0-{middle - 1}")
    tag = first.headers["ETag"]
    rest = server.fetch(content, variant, Range=f"bytes={middle}-", **{"If-Range": tag})
    check("the parts are not the whole", first.status_code == rest.status_code == 206)
    check("the parts are not the whole", first.content + rest.content == expected)


def with_tuspy(server, link, is_checked):
    for picture in PICTURES:
        content, expected = str(uuid.uuid4()), picture.read_bytes()
        before = link.done
        # What is checked is kept or dropped whole, so its parts are small enough to come through.
        link.cut(5, 15_000 if is_checked else len(expected) // 6)
        uploader = tuspy.TusClient(server.url + "/v1/files", headers=server.headers).uploader(
            str(picture), chunk_size=20_000 if is_checked else len(expected), retries=20, retry_delay=0.05,
            metadata=metadata(content), upload_checksum=is_checked)
        uploader.upload()
        check("the link was not cut five times", link.done - before == 5)
        check("tuspy does not know that it has finished", uploader.get_offset() == len(expected))
        check_stored(server, content, expected)
        print(f"tuspy{' with checksums' if is_checked else ''}: {picture.name}, cut five times")


def goes_on_elsewhere(server):
    """A client that was ended; another one goes on with the address that the first has noted."""
    content, expected = str(uuid.uuid4()), PICTURES[0].read_bytes()
    client = tuspy.TusClient(server.url + "/v1/files", headers=server.headers)
    first = client.uploader(str(PICTURES[0]), chunk_size=30_000, metadata=metadata(content, "thumbnail"))
    first.upload(stop_at=60_000)
    check("half an upload can be fetched", server.fetch(content, "thumbnail").status_code == 404)
    client.uploader(str(PICTURES[0]), url=first.url, chunk_size=25_000).upload()
    check_stored(server, content, expected, "thumbnail")
    try:
        client.uploader(str(PICTURES[0]), metadata=metadata(content, "thumbnail")).upload()
        check("a content was sent twice", False)
    except TusCommunicationError as error:
        check(f"a second upload is {error.status_code}", error.status_code == 409)
    print("tuspy: goes on with a noted address; a content that is there is refused")


async def with_aiotus(server, link):
    logging.getLogger("aiotus").setLevel(logging.CRITICAL)
    endpoint = server.url + "/v1/files"
    retries = aiotus.RetryConfiguration(retry_attempts=30, max_retry_period_seconds=0.05)
    async with aiohttp.ClientSession(headers=server.headers) as session:
        capabilities = await aiotus.core.configuration(session, yarl.URL(endpoint))
        wanted = {"creation", "creation-with-upload", "creation-defer-length", "checksum", "expiration", "termination"}
        check("extensions are missing", wanted == set(capabilities.protocol_extensions))
        for picture in PICTURES:
            content, expected = str(uuid.uuid4()), picture.read_bytes()
            before = link.done
            link.cut(5, len(expected) // 6)
            words = {name: value.encode() for name, value in metadata(content).items()}
            location = await aiotus.upload(endpoint, io.BytesIO(expected), words, session, retries)
            check("aiotus gave up", location is not None)
            check("the link was not cut five times", link.done - before == 5)
            check("the metadata are others", await aiotus.metadata(location, session, retries) == words)
            await asyncio.to_thread(check_stored, server, content, expected)
            print(f"aiotus: {picture.name}, cut five times")
        # Many at once.
        contents = [str(uuid.uuid4()) for _ in range(20)]
        expected = PICTURES[0].read_bytes()
        link.cut(10, len(expected))
        await asyncio.gather(*(
            aiotus.upload(endpoint, io.BytesIO(expected), {"content": one.encode()}, session, retries, chunksize=40_000)
            for one in contents))
        for one in contents:
            await asyncio.to_thread(check_stored, server, one, expected)
        print("aiotus: 20 at once")


def main(program):
    link = CuttingLink(generator())
    with tempfile.TemporaryDirectory(prefix="fieldvault-tus-") as folder:
        server = Server(program, folder, link)
        try:
            with_tuspy(server, link, is_checked=False)
            with_tuspy(server, link, is_checked=True)
            goes_on_elsewhere(server)
            asyncio.run(with_aiotus(server, link))
        finally:
            status = server.stop()
        check(f"the server ended with {status}", status == 0)
    print("The server holds against tuspy and aiotus.")


main(sys.argv[1])
