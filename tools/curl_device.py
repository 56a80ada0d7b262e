"""A device without any code of this project: enrols, ships one event and a file, and checks both receipts, with curl and openssl, as Specs/protocol.md
has it.

    python3 tools/curl_device.py TIDEMARK

HTTP is curl's, keys and signatures are openssl's; the bytes of the shipment are put together here from Specs/format.md, Specs/evidence.md and
Specs/protocol.md. TIDEMARK only runs the server. Prints one line; exit code 1 if anything is not as the documents say.
"""

import base64
import hashlib
import json
import pathlib
import struct
import subprocess
import sys
import tempfile
import time
import uuid

import xxhash

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from serving import serving  # noqa: E402

CHECKS = []


def check(what, is_right):
    CHECKS.append(what)
    if not is_right:
        raise SystemExit(f"not as documented: {what}")


def sha256(data):
    return hashlib.sha256(data).digest()


def b64(data):
    return base64.b64encode(data).decode()


class OpenSSL:
    """An Ed25519 key in a folder."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.run("genpkey", "-algorithm", "ed25519", "-out", "device.pem")
        # The key is the last 32 bytes of the structure around it (RFC 8410).
        self.public = self.run("pkey", "-in", "device.pem", "-pubout", "-outform", "DER")[-32:]

    def run(self, *arguments):
        return subprocess.run(["openssl", *arguments], check=True, capture_output=True, cwd=self.folder).stdout

    def sign(self, message):
        (self.folder / "message").write_bytes(message)
        return self.run("pkeyutl", "-sign", "-inkey", "device.pem", "-rawin", "-in", "message")

    def verifies(self, public, message, signature):
        (self.folder / "public.der").write_bytes(bytes.fromhex("302a300506032b6570032100") + public)
        (self.folder / "message").write_bytes(message)
        (self.folder / "signature").write_bytes(signature)
        result = subprocess.run(
            ["openssl", "pkeyutl", "-verify", "-pubin", "-keyform", "DER", "-inkey", "public.der", "-rawin", "-in", "message", "-sigfile",
             "signature"], capture_output=True, cwd=self.folder)
        return result.returncode == 0


def curl(url, method, target, body=b"", fields=(), kind="application/json"):
    """Status, media type and body of an answer."""
    command = ["curl", "--silent", "--show-error", "--max-time", "30", "-X", method, url + target, "-H", f"Content-Type: {kind}", "--data-binary",
               "@-", "-H", "Expect:", "-w", "\n%{http_code} %{content_type}"]
    for field in fields:
        command += ["-H", field]
    output = subprocess.run(command, input=body, check=True, capture_output=True).stdout
    text, _, last = output.rpartition(b"\n")
    status, _, media = last.decode().partition(" ")
    return int(status), media, text


def exchange(url, method, target, body=b"", fields=()):
    """Status, header fields and body of an answer; for uploads, which say most in fields."""
    command = ["curl", "--silent", "--show-error", "--max-time", "30", "--include", url + target, "-H", "Expect:"]
    command += ["--head"] if method == "HEAD" else ["-X", method, "--data-binary", "@-"]
    for field in fields:
        command += ["-H", field]
    output = subprocess.run(command, input=body, check=True, capture_output=True).stdout
    head, _, text = output.partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    pairs = [line.split(": ", 1) for line in lines[1:] if ": " in line]
    return int(lines[0].split()[1]), {name.lower(): value for name, value in pairs}, text


def send_file(url, bearer, tenant, material, key):
    """Specs/protocol.md, Attachments: a file in three parts, by the IETF's draft and by tus."""
    data = bytes(index * 7 % 251 for index in range(100_000))
    digest = sha256(data)
    offer = json.dumps({"digest": b64(digest), "length": len(data)}).encode()
    json_type = "Content-Type: application/json"
    status, fields, text = exchange(url, "POST", "/v1/attachments", offer, [bearer, json_type])
    place = fields.get("location", "")
    check("a file that is offered has an upload", status == 201 and json.loads(text)["offset"] == 0 and place.startswith("/v1/uploads/"))
    ietf, tus = "Content-Type: application/partial-upload", "Content-Type: application/offset+octet-stream"
    status, fields, _ = exchange(url, "PATCH", place, data[:40_000], [bearer, ietf, "Upload-Offset: 0", "Upload-Complete: ?0"])
    check("a part is taken", status == 204 and fields["upload-offset"] == "40000" and fields["upload-complete"] == "?0")
    status, fields, text = exchange(url, "PATCH", place, data[:40_000], [bearer, ietf, "Upload-Offset: 0", "Upload-Complete: ?0"])
    problem = json.loads(text)
    check("the same part again is told the offset", status == 409 and fields["upload-offset"] == "40000" and problem["expected-offset"] == 40_000)
    check("by the registered type", problem["type"] == "https://iana.org/assignments/http-problem-types#mismatching-upload-offset")
    status, fields, _ = exchange(url, "HEAD", place, fields=[bearer])
    check("HEAD tells where it stands", status == 204 and fields["upload-offset"] == "40000" and fields["upload-length"] == "100000")
    status, fields, _ = exchange(url, "PATCH", place, data[40_000:70_000], [bearer, tus, "Upload-Offset: 40000", "Tus-Resumable: 1.0.0"])
    check("tus goes on with it", status == 204 and fields["upload-offset"] == "70000" and fields["tus-resumable"] == "1.0.0")
    status, _, _ = exchange(url, "HEAD", place)
    check("without a credential nothing is told", status == 401)
    status, fields, text = exchange(url, "PATCH", place, data[70_000:], [bearer, ietf, "Upload-Offset: 70000", "Upload-Complete: ?1"])
    answer = json.loads(text)
    check("the last part gives the receipt", status == 200 and answer["complete"] and base64.b64decode(answer["digest"]) == digest)
    message = f"tidemark attachment v1\n{tenant}\n{digest.hex()}\n{len(data)}\n".encode()
    signature = base64.b64decode(answer["signature"])
    check("openssl verifies it", key.verifies(material[1:], message, signature))
    check("openssl refuses another length", not key.verifies(material[1:], message.replace(b"100000", b"100001"), signature))
    status, _, text = exchange(url, "POST", "/v1/attachments", offer, [bearer, json_type])
    check("offered again it is there", status == 200 and json.loads(text) == answer)
    status, fields, _ = exchange(url, "OPTIONS", "/v1/attachments", b"", [bearer])
    check("OPTIONS tells versions and limits", status == 204 and fields["tus-version"] == "1.0.0" and "max-size=" in fields["upload-limit"])


def vkey(name, key):
    """Specs/evidence.md: a C2SP verifier key, of a key with its type in front."""
    return f"{name}+{sha256(name.encode() + bytes([10]) + key)[:4].hex()}+{b64(key)}"


def record(identifier, kind, data, now):
    """Specs/format.md, Record: a user event without subject, actor, content type and extensions."""
    name = kind.encode()
    length = 48 + len(name) + len(data)
    head = struct.pack("<IBBBB", length, 1, 9 << 4, 1 << 4, len(name)) + identifier.bytes + struct.pack("<qQhBBHH", now, 1, 0, 0, 0, 0, 0)
    return head + name + data


def leaf(entry, data):
    """Specs/evidence.md, Descriptor: no session, no extensions."""
    head = entry[: len(entry) - len(data)]
    return sha256(b"\0" + b"TMD1" + bytes(32) + sha256(b"") + sha256(data) + head)


def frame(log, epoch, entries):
    """Specs/format.md, Frame, of type 1 and not compressed, with the seed of a shipment."""
    seed = xxhash.xxh3_64_intdigest(log.bytes + epoch.bytes + bytes(16))
    stored = b"".join(entries)
    rest = b"TMFR" + struct.pack("<BBHIIQIIQQ", 1, 1, 0, len(stored), len(stored), 0, len(entries), 0, 0, 0) + stored
    rest += bytes(-(len(rest) + 8) % 8)
    return struct.pack("<Q", xxhash.xxh3_64_intdigest(rest, seed)) + rest


def shipment(note, end, frames):
    body = note + frames
    return b"TMSHIP01" + struct.pack("<HHIQQQ", 0, 0, len(note), 0, end, xxhash.xxh3_64_intdigest(body)) + body


def run(server, folder):
    server.admin("tenant", "acme")
    code = server.admin("code", "acme").strip()
    office = server.admin("office-token", "acme").strip()
    key = OpenSSL(folder)
    url = server.url

    def call(method, target, body, expected=200, **more):
        status, media, text = curl(url, method, target, body, **more)
        check(f"{method} {target.split('/')[2]} answers {expected}", status == expected)
        check(f"{method} {target.split('/')[2]} has its media type", media == "application/vnd.tidemark+json")
        return json.loads(text)

    enrolled = call("POST", "/v1/enrol", json.dumps({"code": code, "public_key": b64(key.public), "name": "curl"}).encode(), 201)
    token = call("POST", "/v1/token", json.dumps({"refresh_token": enrolled["refresh_token"]}).encode())
    bearer = f"Authorization: Bearer {token['access_token']}"

    log, epoch, identifier = uuid.uuid4(), uuid.uuid4(), uuid.uuid4()
    data = b'{"gate":7}'
    entry = record(identifier, "scan", data, time.time_ns())
    root = leaf(entry, data)
    origin = f"tidemark/{log.hex}/{epoch.hex}"
    verifier = vkey(origin, b"\x01" + key.public)
    place = f"/v1/logs/{log.hex}/epochs/{epoch.hex}"
    hello = call("PUT", place, json.dumps({"oldest": 0, "size": 1, "root": b64(root), "key": verifier}).encode(), fields=[bearer])
    check("a new log has nothing accepted", hello["accepted"] == 0 and base64.b64decode(hello["root"]) == sha256(b""))

    text = f"{origin}\n1\n{b64(root)}\n".encode()
    identity = bytes.fromhex(verifier.split("+")[1])
    note = text + f"\n\u2014 {origin} {b64(identity + key.sign(text))}\n".encode()
    body = shipment(note, 1, frame(log, epoch, [entry]))
    fields = [bearer, f"Content-Digest: sha-256=:{b64(sha256(body))}:", f"Tidemark-Sender: {hello['sender']}"]
    answer = call("POST", place + "/frames", body, fields=fields, kind="application/vnd.tidemark.shipment")
    check("the event is accepted", answer["accepted"] == 1 and answer["outcomes"] == [] and answer["first_change"] == answer["last_change"])

    # The receipt: the same text, and a cosignature/v1 of the server's pinned key.
    receipt = answer["receipt"].encode()
    check("the receipt is of what was signed", receipt.startswith(note))
    name, identifier_text, material = enrolled["server_key"].split("+", 2)
    material = base64.b64decode(material)
    check("the server's key is one for cosignatures", material[0] == 4 and len(material) == 33)
    line = [line for line in answer["receipt"].splitlines() if line.startswith(f"\u2014 {name} ")][0]
    signature = base64.b64decode(line.rsplit(" ", 1)[1])
    check("the cosignature names the key", signature[:4].hex() == identifier_text)
    seconds = int.from_bytes(signature[4:12], "big")
    check("its time is now", abs(seconds - time.time()) < 60)
    message = f"cosignature/v1\ntime {seconds}\n".encode() + text
    check("openssl verifies the receipt", key.verifies(material[1:], message, signature[12:]))
    check("openssl refuses another time", not key.verifies(material[1:], message.replace(b"time ", b"time 1"), signature[12:]))

    send_file(url, bearer, enrolled["tenant"], material, key)

    again = call("POST", place + "/frames", body, fields=fields, kind="application/vnd.tidemark.shipment")
    check("sent again, the answer is the same", again == answer)
    flipped = bytearray(body)
    flipped[-1] ^= 1
    status, media, problem = curl(url, "POST", place + "/frames", bytes(flipped), fields, "application/vnd.tidemark.shipment")
    problem = json.loads(problem)
    check("with a byte flipped it is refused as corrupt", status == 400 and media == "application/problem+json" and problem["class"] == "corrupt")
    changes = call("GET", "/v1/changes?since=0", b"", fields=[f"Authorization: Bearer {office}"])["changes"]
    check("the office sees the event once", len(changes) == 1 and changes[0]["number"] == 1 and changes[0]["type"] == "scan")
    check("as it was captured", base64.b64decode(changes[0]["data"]) == data)
    return seconds


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with serving(sys.argv[1]) as server, tempfile.TemporaryDirectory(prefix="tidemark-curl-") as folder:
        run(server, folder)
    print(f"layer=curl-device checks={len(CHECKS)} wrong=0")


if __name__ == "__main__":
    main()
