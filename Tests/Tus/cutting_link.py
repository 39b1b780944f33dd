"""A link to a server that is cut again and again: each connection breaks after so many bytes from the client.

usage: cutting_link.py PORT CUTS
Prints the port that it listens on, and when it gets SIGUSR1, how often it has cut.
"""

import random
import signal
import socket
import struct
import sys
import threading


class CuttingLink:
    """Listens on a port of its own and passes bytes on. `cuts` is how many connections are still to be cut."""

    def __init__(self, generator):
        self.cuts = 0
        self.done = 0
        self.greatest = 100_000
        self.target = None
        self._random = generator
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self, count, greatest):
        """The next `count` connections that bring enough are cut, each after at most `greatest` bytes."""
        with self._lock:
            self.cuts, self.greatest = count, greatest

    def _accept(self):
        while True:
            client, _ = self._listener.accept()
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        server = socket.create_connection(("127.0.0.1", self.target))
        threading.Thread(target=self._pass, args=(server, client), daemon=True).start()
        # A request without a body stays below this, so that what is cut is an upload.
        left = self._random.randrange(1_500, self.greatest + 1_500)
        try:
            while part := client.recv(min(65_536, left)):
                server.sendall(part)
                left -= len(part)
                if left == 0 and self._take_cut():
                    self._break(client, server)
                    return
                left = left or 65_536
        except OSError:
            pass
        self._shut(server)

    def _take_cut(self):
        with self._lock:
            if self.cuts == 0:
                return False
            self.cuts -= 1
            self.done += 1
            return True

    def _break(self, client, server):
        """One end in order, the other without: the system sends a reset."""
        if self._random.random() < 0.5:
            server.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        # Wakes the thread that reads the other way, which holds the sockets open.
        for end in (server, client):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            end.close()

    @staticmethod
    def _shut(end):
        try:
            end.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    @staticmethod
    def _pass(source, target):
        try:
            while part := source.recv(65_536):
                target.sendall(part)
        except OSError:
            pass
        CuttingLink._shut(target)


def generator():
    """Chance that can be repeated: the seed is printed."""
    seed = random.SystemRandom().randrange(1 << 32)
    print(f"seed {seed}")
    return random.Random(seed)


def main(port, cuts):
    # Before there are threads, which would take the signal otherwise.
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
    link = CuttingLink(random.Random())
    link.target = int(port)
    link.cut(int(cuts), 40_000)
    print(link.port, flush=True)
    signal.sigwait([signal.SIGUSR1])
    print(link.done)


if __name__ == "__main__":
    main(*sys.argv[1:])
