#!/usr/bin/env python3
"""A network that misbehaves: forwards TCP connections to a server on this machine, and does to each what it is told.

    tools/network/proxy.py SERVER-PORT FAULT     listens, prints its port, and misbehaves so until it is ended

In another program: `with Proxy(port) as proxy: proxy.fault = "reply-lost"`. It looks at bytes only, so it works with TLS as well as without, but for
the faults that answer or replay by themselves, which need a connection without TLS. With the server's certificate and key, `replay` works with TLS,
too, and sends shipments that it saw on earlier connections again between those of this one, in any order.
"""

import collections
import random
import socket
import ssl
import struct
import sys
import threading
import time

# Name: what happens to a connection.
FAULTS = {
    "none": "everything is forwarded",
    "refused": "it is reset at once",
    "request-cut": "it is reset in the middle of what the device sends",
    "reply-lost": "the whole request arrives, and the connection is reset when the reply begins",
    "reply-cut": "it is reset in the middle of the reply",
    "delay": "each piece is held back for a moment",
    "half-open": "after some bytes nothing moves any more, and nobody closes",
    "slow": "1 KiB a second in each direction",
    "portal-page": "somebody else answers 200 with a page (without TLS; with TLS the connection fails)",
    "portal-redirect": "somebody else answers 302 (likewise)",
    "replay": "it is forwarded, and all that the device sent is sent to the server once more later (without TLS)",
}

PAGE = b"<html><body>Welcome to the free network. Please sign in.</body></html>"
HALF_OPEN_SECONDS = 3.0


class Proxy:
    """Forwards connections to a port; `fault` and `cut_at` (bytes until a cut) count for connections that begin after they were set."""

    def __init__(self, port, certificate=None, key=None, seed=1):
        self.target = port
        self.certificate, self.key = certificate, key
        # Shipments that were seen, and how the server answered those that were sent again.
        self.recorded = collections.deque(maxlen=64)
        self.replayed = collections.Counter()
        self._random = random.Random(seed)
        self.fault = "none"
        self.cut_at = 600
        self.connections = 0
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self._listener.getsockname()[1]
        self._open = set()
        self._lock = threading.Lock()
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Ends everything."""
        self._listener.close()
        with self._lock:
            for connection in list(self._open):
                _reset(connection)

    def _accept(self):
        while True:
            try:
                device, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._serve, args=(device, self.fault, self.cut_at), daemon=True).start()

    def _serve(self, device, fault, cut_at):
        with self._lock:
            self._open.add(device)
        try:
            self._misbehave(device, fault, cut_at)
        except OSError:
            pass
        finally:
            with self._lock:
                self._open.discard(device)
            _close(device)

    def _misbehave(self, device, fault, cut_at):
        if fault == "refused":
            return _reset(device)
        if fault in ("portal-page", "portal-redirect"):
            device.recv(65536)
            if fault == "portal-page":
                head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n" % len(PAGE)
            else:
                head = b"HTTP/1.1 302 Found\r\nLocation: http://portal.example/\r\nContent-Length: %d\r\n\r\n" % len(PAGE)
            device.sendall(head + PAGE)
            # Closed with bytes unread, the page might never arrive.
            device.shutdown(socket.SHUT_WR)
            device.settimeout(1)
            while device.recv(65536):
                pass
            return None
        if fault == "replay" and self.certificate:
            return self._relay(device)
        server = socket.create_connection(("127.0.0.1", self.target), timeout=10)
        server.settimeout(None)
        with self._lock:
            self._open.add(server)
        try:
            link = _Link(device, server, fault, cut_at)
            link.run()
            if fault == "replay" and link.sent:
                threading.Thread(target=self._replay, args=(bytes(link.sent),), daemon=True).start()
        finally:
            with self._lock:
                self._open.discard(server)
            _close(server)
        return None

    def _relay(self, device):
        """Takes the TLS off, forwards request by request, and sends earlier shipments again before and after each."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate, self.key)
        device.settimeout(60)
        with context.wrap_socket(device, server_side=True) as device, self._connect() as server:
            while request := _message(device):
                is_shipment = request.startswith(b"POST ") and b"/frames " in request.split(b"\r\n", 1)[0]
                if is_shipment:
                    self.send_again(self._random.randrange(3))
                    self.recorded.append(request)
                server.sendall(request)
                reply = _message(server)
                if is_shipment:
                    self.send_again(self._random.randrange(3))
                device.sendall(reply)

    def send_again(self, count):
        """Sends that many of the shipments that were seen to the server, in any order, and throws the answers away."""
        for request in self._random.sample(list(self.recorded), min(count, len(self.recorded))):
            try:
                with self._connect() as server:
                    server.sendall(request)
                    self.replayed[_message(server).split(b" ", 2)[1].decode()] += 1
            except (OSError, IndexError):
                self.replayed["no answer"] += 1

    def _connect(self):
        connection = socket.create_connection(("127.0.0.1", self.target), timeout=10)
        return ssl.create_default_context(cafile=self.certificate).wrap_socket(connection, server_hostname="127.0.0.1")

    def _replay(self, data):
        time.sleep(0.2)
        try:
            with socket.create_connection(("127.0.0.1", self.target), timeout=5) as server:
                server.sendall(data)
                server.settimeout(5)
                while server.recv(65536):
                    pass
        except OSError:
            pass


class _Link:
    """Both directions of one connection."""

    def __init__(self, device, server, fault, cut_at):
        self.device, self.server, self.fault, self.cut_at = device, server, fault, cut_at
        self.sent = bytearray()
        self.count = {"up": 0, "down": 0}
        self.is_cut = False

    def run(self):
        down = threading.Thread(target=self._pump, args=(self.server, self.device, "down"), daemon=True)
        down.start()
        self._pump(self.device, self.server, "up")
        down.join()

    def _cut(self):
        self.is_cut = True
        for end in (self.device, self.server):
            _reset(end)

    def _pump(self, source, target, direction):
        try:
            while not self.is_cut:
                data = source.recv(1024 if self.fault == "slow" else 65536)
                if not data:
                    break
                if not self._forward(target, data, direction):
                    return
            target.shutdown(socket.SHUT_WR)
        except OSError:
            # One end was reset: the other one is told, or it would wait for nothing.
            self._cut()

    def _forward(self, target, data, direction):
        before = self.count[direction]
        self.count[direction] += len(data)
        if direction == "up" and self.fault == "replay":
            self.sent += data
        if self.fault == "request-cut" and direction == "up" and before + len(data) > self.cut_at:
            target.sendall(data[: max(0, self.cut_at - before)])
            time.sleep(0.02)
            self._cut()
            return False
        # With TLS the first replies are the handshake's.
        if self.fault in ("reply-lost", "reply-cut") and direction == "down" and self.count["up"] > self.cut_at:
            if self.fault == "reply-cut":
                target.sendall(data[: len(data) // 2])
                time.sleep(0.02)
            self._cut()
            return False
        if self.fault == "half-open" and sum(self.count.values()) > self.cut_at:
            time.sleep(HALF_OPEN_SECONDS)
            self._cut()
            return False
        if self.fault == "delay":
            time.sleep(0.1)
        if self.fault == "slow":
            time.sleep(len(data) / 1024)
        target.sendall(data)
        return True


def _message(connection):
    """A request or an answer with all of its body; empty at the end of the connection."""
    data = bytearray()
    while b"\r\n\r\n" not in data:
        piece = connection.recv(65536)
        if not piece:
            return b""
        data += piece
    head, _, body = bytes(data).partition(b"\r\n\r\n")
    length = next((int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")), 0)
    # What was asked to say whether the body may come is told so.
    if b"expect: 100-continue" in head.lower():
        connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
    while len(data) < len(head) + 4 + length:
        piece = connection.recv(65536)
        if not piece:
            return b""
        data += piece
    return bytes(data)


def _reset(connection):
    """Closes so that the other end is told by a reset."""
    try:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    except OSError:
        pass
    _close(connection, both=True)


def _close(connection, both=False):
    try:
        if both:
            # Wakes whoever waits for bytes of it.
            connection.shutdown(socket.SHUT_RD)
    except OSError:
        pass
    connection.close()


def main():
    if len(sys.argv) != 3 or sys.argv[2] not in FAULTS:
        sys.exit(__doc__ + "\n" + "\n".join(f"    {name:16} {what}" for name, what in FAULTS.items()))
    with Proxy(int(sys.argv[1])) as proxy:
        proxy.fault = sys.argv[2]
        print(proxy.port, flush=True)
        try:
            while True:
                time.sleep(3600)
        except KeyboardInterrupt:
            pass


if __name__ == "__main__":
    main()
