"""Sends a running server what no client should: damaged and cut requests, floods, slow and half-open connections, nonsense within and instead of TLS.

    python3 tools/http_abuse.py TIDEMARK [SECONDS [SEED]]

Half of the SECONDS (30 if not given) against a server without TLS, half against one with a certificate that OpenSSL makes here. Every connection has to be
answered or closed in bounded time, a proper request has to be answered at any moment, the process must not grow without bounds, and when all is over it has
to be idle, and has to end well.

Prints one line; exit code 1 otherwise.
"""

import os
import pathlib
import random
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time

from serving import Serving

# The server's own limits, and some patience: the machine may be busy.
HEAD_SECONDS = 20
PATIENCE = 40
GROWTH_LIMIT = 192 << 20

SAMPLES = [
    b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n",
    b"GET /v1/changes?since=0&limit=10 HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer tma_00\r\nPrefer: wait=5\r\n\r\n",
    b"POST /v1/enrol HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 25\r\n\r\n" + b'{"code":"x","key":"y\xff\xfe"}',
    b"PUT /v1/logs/00000000000000000000000000000000/epochs/00000000000000000000000000000000 HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}",
    b"POST /v1/token HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nTrailer: x\r\n\r\n",
    b"HEAD /v1/uploads/0 HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\nhello",
    b"PATCH /v1/uploads/0 HTTP/1.0\r\nUpload-Offset: 0\r\nContent-Length: 5\r\n\r\nhello",
    b"OPTIONS * HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
    b"GET http://a:1/metrics HTTP/1.1\r\nHost: a\r\nCookie: a=b; c\r\nAuthorization: Basic !!!\r\n\r\n",
]
SNIPPETS = [b"\r\n", b"\n", b"\r", b"\0", b" ", b":", b"%00", b"%", b"?", b"&" * 50, b"=", b"HTTP/1.1", b"Content-Length: 99999999999999999999\r\n",
            b"Content-Length: -1\r\n", b"Content-Length: 5\r\n", b"Transfer-Encoding: chunked\r\n", b"Transfer-Encoding: identity\r\n", b"\xff\xfe", b"\x80",
            b"A" * 5000, b"X: " + b"y" * 20000 + b"\r\n", b"Expect: 100-continue\r\n", b"Connection: upgrade\r\nUpgrade: websocket\r\n", b"\t folded\r\n"]


def damaged(source):
    """Some requests, one behind the other, with some of their bytes changed."""
    text = bytearray(b"".join(source.choices(SAMPLES, k=source.randrange(1, 4))))
    for _ in range(source.randrange(0, 6)):
        position = source.randrange(len(text) + 1)
        kind = source.randrange(4)
        if kind == 0 and position < len(text):
            text[position] = source.randrange(256)
        elif kind == 1:
            text[position:position] = source.choice(SNIPPETS)
        elif kind == 2:
            del text[position:position + source.randrange(1, 20)]
        else:
            text[position:position] = text[source.randrange(len(text) + 1):][:source.randrange(1, 200)]
    if source.random() < 0.2:
        text = bytearray(source.randbytes(source.randrange(1, 400)))
    return bytes(text)


class Abuse:
    """One server, and what is done to it."""

    def __init__(self, server, context):
        self.server = server
        self.context = context
        self.lock = threading.Lock()
        self.wrong = []
        self.count = 0

    def connect(self, secured=True):
        connection = socket.create_connection(("127.0.0.1", self.server.port), timeout=PATIENCE)
        if self.context and secured:
            connection = self.context.wrap_socket(connection, server_hostname="127.0.0.1")
        return connection

    def note(self, what):
        with self.lock:
            self.wrong.append(what)

    def is_served(self):
        """Whether a proper request is answered as it has to be."""
        start = time.monotonic()
        answer = b""
        try:
            with self.connect() as connection:
                connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
                while piece := connection.recv(65536):
                    answer += piece
        except OSError as error:
            self.note(f"/healthz is not answered: {error}")
            return
        if not answer.startswith(b"HTTP/1.1 200 "):
            self.note(f"/healthz is answered by {answer[:100]!r}")
        if time.monotonic() - start > PATIENCE / 2:
            self.note(f"/healthz took {time.monotonic() - start:.0f} s")

    def exchange(self, source):
        """Sends something damaged, and waits until it is answered or the connection is closed."""
        text = damaged(source)
        secured = source.random() < 0.8
        try:
            connection = self.connect(secured)
        except OSError:
            return  # Too many from one address: that is a limit, too.
        with connection:
            try:
                way = source.random()
                if way < 0.15:
                    connection.sendall(text[:source.randrange(len(text) + 1)])
                    return  # Broken off.
                connection.sendall(text)
                if way < 0.3:
                    connection.shutdown(socket.SHUT_WR)
                connection.settimeout(0.3)
                try:
                    connection.recv(65536)
                except TimeoutError:
                    # It waits for the rest. The end of what is sent must come through.
                    connection.settimeout(PATIENCE)
                    connection.shutdown(socket.SHUT_WR)
                    while connection.recv(65536):
                        pass
            except TimeoutError:
                self.note(f"neither answered nor closed: {text!r}")
            except OSError:
                pass

    def drip(self, source):
        """Sends a request byte by byte, without an end."""
        start = time.monotonic()
        try:
            with self.connect(source.random() < 0.7) as connection:
                connection.sendall(b"POST /v1/token HTTP/1.1\r\nHost: a\r\nX: ")
                while time.monotonic() - start < HEAD_SECONDS + PATIENCE:
                    connection.sendall(b"x")
                    time.sleep(0.3)
        except OSError:
            return
        self.note("a connection that sent byte by byte was not cut off")

    def run(self, seconds, seed):
        end = time.monotonic() + seconds
        drips = [threading.Thread(target=self.drip, args=(random.Random(seed + number),)) for number in range(10)]

        def work(number):
            source = random.Random(seed * 1000 + number)
            while time.monotonic() < end:
                self.exchange(source)
                with self.lock:
                    self.count += 1

        workers = [threading.Thread(target=work, args=(number,)) for number in range(16)]
        held = []
        for thread in drips + workers:
            thread.start()
        while time.monotonic() < end:
            self.is_served()
            # Connections that say nothing: they may not keep others out for long.
            if len(held) < 40:
                held.append(socket.create_connection(("127.0.0.1", self.server.port), timeout=PATIENCE))
            time.sleep(0.3)
        for thread in workers + drips:
            thread.join()
        for connection in held:
            connection.close()
        self.is_served()


def memory(process):
    text = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    return int(text.split("VmRSS:")[1].split()[0]) << 10


def switches(process):
    """How often the threads of a process have run so far."""
    total = 0
    for task in pathlib.Path(f"/proc/{process.pid}/task").iterdir():
        text = (task / "status").read_text()
        total += sum(int(line.split()[1]) for line in text.splitlines() if "ctxt_switches" in line)
    return total


def certificate(folder):
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", "key.pem", "-out", "certificate.pem",
         "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"], cwd=folder, check=True, capture_output=True)


def main():
    if not 2 <= len(sys.argv) <= 4:
        sys.exit(__doc__)
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 30
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    count, wrong, wakes = 0, [], []
    for secured in (False, True):
        with tempfile.TemporaryDirectory(prefix="tidemark-") as folder:
            certificate(folder)
            context = ssl.create_default_context(cafile=os.path.join(folder, "certificate.pem")) if secured else None
            server = Serving(sys.argv[1], folder, *(["--certificate", "certificate.pem", "--key", "key.pem"] if secured else []))
            try:
                abuse = Abuse(server, context)
                abuse.is_served()
                before = memory(server.process)
                abuse.run(seconds / 2, seed)
                count += abuse.count
                wrong += abuse.wrong
                growth = memory(server.process) - before
                if growth > GROWTH_LIMIT:
                    wrong.append(f"the process has grown by {growth >> 20} MiB")
                # What was left open meanwhile may still be cut off.
                time.sleep(1)
                start = switches(server.process)
                time.sleep(3)
                wakes.append((switches(server.process) - start) / 3)
                if wakes[-1] > 20:
                    wrong.append(f"an idle server's threads run {wakes[-1]:.0f} times a second")
                code = server.stop()
                if code != 0:
                    wrong.append(f"the server ended with {code}: {(server.folder / 'errors.txt').read_text()[-2000:]}")
            finally:
                server.process.kill()
                server.process.wait()
    for line in wrong[:30]:
        print(line)
    print(f"http abuse: {count} connections, {len(wrong)} findings, {max(wakes):.1f} wake-ups a second at rest")
    sys.exit(1 if wrong or count < 50 else 0)


if __name__ == "__main__":
    main()
