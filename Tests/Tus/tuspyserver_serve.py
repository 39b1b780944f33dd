"""Serves tus at /files: `tuspyserver_serve.py PORT FOLDER`. Prints a line when it is ready."""

import sys

import uvicorn
from fastapi import FastAPI
from tuspyserver import create_tus_router

port, folder = int(sys.argv[1]), sys.argv[2]
app = FastAPI()
app.include_router(create_tus_router(prefix="files", files_dir=folder, strict_offset_validation=True))


class Server(uvicorn.Server):
    """Tells when it listens."""

    async def startup(self, sockets=None):
        await super().startup(sockets=sockets)
        print("ready", flush=True)


Server(uvicorn.Config(app, host="127.0.0.1", port=port, log_level="warning")).run()
