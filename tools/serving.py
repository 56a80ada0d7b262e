"""A running `tidemark serve` for the scripts that talk to one."""

import contextlib
import base64
import json
import os
import pathlib
import signal
import ssl
import subprocess
import tempfile
import urllib.error
import urllib.request


class Serving:
    """A server in a directory of its own, on a port of this machine that is free."""

    def __init__(self, tidemark, folder, *options):
        self.folder = pathlib.Path(folder)
        self.tidemark = os.path.abspath(tidemark)
        self.directory = self.folder / "server"
        self.errors = open(self.folder / "errors.txt", "ab")
        self.process = subprocess.Popen(
            [self.tidemark, "serve", str(self.directory), "--listen", "127.0.0.1:0", "--log", str(self.folder / "requests.jsonl"), *options],
            stdout=subprocess.PIPE, stderr=self.errors, cwd=self.folder)
        line = self.process.stdout.readline().decode()
        if not line.startswith("listening on "):
            raise SystemExit(f"the server does not start: {(self.folder / 'errors.txt').read_text()}")
        self.url = line.split()[-1]
        self.port = int(self.url.rsplit(":", 1)[1])
        self.operator = (self.directory / "operator-token").read_text().strip()

    def admin(self, *arguments):
        """Output of `tidemark admin ...`."""
        command = [self.tidemark, "admin", *arguments, "--data", str(self.directory)]
        return subprocess.run(command, check=True, capture_output=True, text=True, cwd=self.folder).stdout

    def call(self, method, target, body=None, token=None, fields=None, context=None):
        """Status and JSON of an answer."""
        fields = dict(fields or {})
        if body is not None:
            body = json.dumps(body).encode()
            fields["Content-Type"] = "application/json"
        if token:
            fields["Authorization"] = f"Bearer {token}"
        request = urllib.request.Request(self.url + target, data=body, headers=fields, method=method)
        try:
            with urllib.request.urlopen(request, timeout=30, context=context) as response:
                return response.status, json.loads(response.read() or b"null")
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read() or b"null")

    def device(self, tenant, public_key=None):
        """Enrols a device; its id and an access token."""
        code = self.admin("code", tenant).strip()
        key = base64.b64encode(public_key or os.urandom(32)).decode()
        status, enrolled = self.call("POST", "/v1/enrol", {"code": code, "public_key": key, "name": "a script"})
        assert status == 201, enrolled
        status, tokens = self.call("POST", "/v1/token", {"refresh_token": enrolled["refresh_token"]})
        assert status == 200, tokens
        return enrolled["device"], tokens["access_token"]

    def stop(self):
        """Asks it to end; its exit code."""
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(30)
        finally:
            self.errors.close()
            self.process.stdout.close()


@contextlib.contextmanager
def serving(tidemark, *options):
    """A server that is stopped at the end, which has to go well."""
    with tempfile.TemporaryDirectory(prefix="tidemark-") as folder:
        server = Serving(tidemark, folder, *options)
        try:
            yield server
        except BaseException:
            server.process.kill()
            server.process.wait()
            raise
        code = server.stop()
        if code != 0:
            raise SystemExit(f"the server ended with {code}: {(server.folder / 'errors.txt').read_text()}")
