"""Envelopes of sealed events, made and opened from Specs/erasure.md alone, with Python's standard library.

    python3 tools/erasure.py             check the published value of XChaCha20-Poly1305, and the vectors in Specs/vectors
    python3 tools/erasure.py --write     make the vectors
"""

import hashlib
import hmac
import json
import pathlib
import struct
import sys

VECTORS = pathlib.Path(__file__).resolve().parent.parent / "Specs/vectors/envelopes.json"
CONTENT_TYPE = "application/vnd.tidemark.sealed"


# XChaCha20-Poly1305: RFC 8439 and draft-irtf-cfrg-xchacha-03.


def rotate(value, count):
    return (value << count | value >> (32 - count)) & 0xFFFFFFFF


def rounds(state):
    def quarter(a, b, c, d):
        for x, y, z, count in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
            state[x] = (state[x] + state[y]) & 0xFFFFFFFF
            state[z] = rotate(state[z] ^ state[x], count)

    for _ in range(10):
        for column in range(4):
            quarter(column, 4 + column, 8 + column, 12 + column)
        for diagonal in range(4):
            quarter(diagonal, 4 + (diagonal + 1) % 4, 8 + (diagonal + 2) % 4, 12 + (diagonal + 3) % 4)


CONSTANTS = list(struct.unpack("<4I", b"expand 32-byte k"))


def chacha20_block(key, counter, nonce):
    start = CONSTANTS + list(struct.unpack("<8I", key)) + [counter] + list(struct.unpack("<3I", nonce))
    state = list(start)
    rounds(state)
    return struct.pack("<16I", *((a + b) & 0xFFFFFFFF for a, b in zip(state, start)))


def hchacha20(key, nonce):
    state = CONSTANTS + list(struct.unpack("<8I", key)) + list(struct.unpack("<4I", nonce))
    rounds(state)
    return struct.pack("<8I", *state[:4], *state[12:])


def chacha20(key, nonce, text):
    blocks = (chacha20_block(key, 1 + index, nonce) for index in range((len(text) + 63) // 64))
    return bytes(a ^ b for a, b in zip(text, b"".join(blocks)))


def poly1305(key, message):
    r = int.from_bytes(key[:16], "little") & 0x0FFFFFFC0FFFFFFC0FFFFFFC0FFFFFFF
    sum_ = 0
    for at in range(0, len(message), 16):
        sum_ = (sum_ + int.from_bytes(message[at : at + 16] + b"\x01", "little")) * r % ((1 << 130) - 5)
    return ((sum_ + int.from_bytes(key[16:], "little")) & ((1 << 128) - 1)).to_bytes(16, "little")


def tag(key, nonce, ciphertext, associated):
    def padded(part):
        return part + bytes(-len(part) % 16)

    message = padded(associated) + padded(ciphertext) + struct.pack("<QQ", len(associated), len(ciphertext))
    return poly1305(chacha20_block(key, 0, nonce)[:32], message)


def split(key, nonce):
    return hchacha20(key, nonce[:16]), bytes(4) + nonce[16:]


def encrypt(key, nonce, message, associated):
    key, nonce = split(key, nonce)
    ciphertext = chacha20(key, nonce, message)
    return ciphertext + tag(key, nonce, ciphertext, associated)


def decrypt(key, nonce, sealed, associated):
    """The message, or None."""
    key, nonce = split(key, nonce)
    ciphertext = sealed[:-16]
    if not hmac.compare_digest(tag(key, nonce, ciphertext, associated), sealed[-16:]):
        return None
    return chacha20(key, nonce, ciphertext)


# The envelope.


def derived(secret, purpose, byte_count, salt=bytes(16), message=b""):
    return hashlib.blake2b(message, digest_size=byte_count, key=secret, salt=salt, person=purpose).digest()


def associated_data(event_id, key_id, kind, subject, actor):
    return b"".join(
        (b"\x01", event_id, key_id, bytes([len(kind)]), kind, struct.pack("<H", len(subject)), subject, bytes([len(actor)]), actor)
    )


def seal(key, event):
    """What is stored of an event: subject, actor, data."""
    secret, key_id, event_id = (bytes.fromhex(text) for text in (key["secret"], key["id"], event["id"]))
    subject = key["pseudonym"].encode()
    actor = derived(secret, b"tidemark actor 1", 16, message=event["actor"].encode()).hex().encode() if event["actor"] else b""
    message = b""
    for form, part in (
        ("<H", event["subject"].encode()), ("<B", event["actor"].encode()), ("<B", event["content_type"].encode()),
        ("<H", bytes.fromhex(event["extensions"])),
    ):
        message += struct.pack(form, len(part)) + part
    message += bytes.fromhex(event["data"])
    associated = associated_data(event_id, key_id, event["type"].encode(), subject, actor)
    nonce = derived(secret, b"tidemark nonce 1", 24, event_id, struct.pack("<Q", len(associated)) + associated + message)
    event_key = derived(secret, b"tidemark event 1", 32, event_id)
    commitment = derived(event_key, b"tidemark commit1", 32)
    envelope = b"\x01" + nonce + commitment + encrypt(event_key, nonce, message, associated)
    return {"subject": subject.decode(), "actor": actor.decode(), "data": envelope.hex()}


def open_(key, event_id, kind, stored):
    """The message's parts, or why there are none."""
    envelope = bytes.fromhex(stored["data"])
    if not envelope:
        return "it is empty"
    if envelope[0] != 1:
        return f"version {envelope[0]}"
    if len(envelope) < 79:
        return "it is too short"
    secret, event_id = bytes.fromhex(key["secret"]), bytes.fromhex(event_id)
    nonce, commitment = envelope[1:25], envelope[25:57]
    event_key = derived(secret, b"tidemark event 1", 32, event_id)
    if not hmac.compare_digest(commitment, derived(event_key, b"tidemark commit1", 32)):
        return "it commits to another key"
    associated = associated_data(
        event_id, bytes.fromhex(key["id"]), kind.encode(), stored["subject"].encode(), stored["actor"].encode())
    message = decrypt(event_key, nonce, envelope[57:], associated)
    if message is None:
        return "it was altered"
    parts = {}
    for name, byte_count in (("subject", 2), ("actor", 1), ("content_type", 1), ("extensions", 2)):
        count = int.from_bytes(message[:byte_count], "little")
        if byte_count + count > len(message):
            return "its message ends early"
        part, message = message[byte_count : byte_count + count], message[byte_count + count :]
        parts[name] = part.hex() if name == "extensions" else part.decode()
    parts["data"] = message.hex()
    return parts


# The vectors.


def key(number, subject):
    return {
        "id": bytes([0x10 + number] * 16).hex(), "pseudonym": bytes([0x20 + number] * 16).hex(), "subject": subject,
        "secret": bytes(range(32 * number, 32 * number + 32)).hex(),
    }


def event(number, kind, subject="", actor="", content_type="", extensions=b"", data=b""):
    event_id = bytes.fromhex("0190163d8694739baea5") + bytes(5) + bytes([number])
    return {
        "id": event_id.hex(), "type": kind, "subject": subject, "actor": actor, "content_type": content_type,
        "extensions": extensions.hex(), "data": data.hex(),
    }


def attribute(name, value):
    body = bytes([len(name)]) + name + value
    return struct.pack("<HH", 7, len(body)) + body


def events():
    first, second = key(1, "person-17"), key(2, "Ægir Ólafsson")
    yield "nothing but a type", first, event(1, "t")
    yield "all fields", first, event(
        2, "visit", "gate-7", "nurse-3", "application/json", attribute(b"ward", "süd".encode()), b'{"temperature":38.4}')
    yield "the same actor with another subject", second, event(3, "visit", "gate-7", "nurse-3", "application/json", data=b"{}")
    yield "sixty-four bytes of data", second, event(4, "photo", data=bytes(range(64)))
    yield "several blocks", second, event(5, "x" * 255, "s" * 1024, "a" * 255, "c" * 255, data=bytes(n * n & 255 for n in range(1000)))


def published():
    """Appendix A.3.1 of draft-irtf-cfrg-xchacha-03."""
    message = (
        b"Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, sunscreen would be it.")
    sealed = bytes.fromhex(
        "bd6d179d3e83d43b9576579493c0e939572a1700252bfaccbed2902c21396cbb731c7f1b0b4aa6440bf3a82f4eda7e39ae64c6708c54c216cb96b72e1213b452"
        "2f8c9ba40db5d945b11b69b982c1bb9e3f3fac2bc369488f76b2383565d3fff921f9664c97637da9768812f615c68b13b52e"
        "c0875924c1c7987947deafd8780acf49")
    secret, nonce, associated = bytes(range(0x80, 0xA0)), bytes(range(0x40, 0x58)), bytes.fromhex("50515253c0c1c2c3c4c5c6c7")
    return encrypt(secret, nonce, message, associated) == sealed and decrypt(secret, nonce, sealed, associated) == message


def flipped(stored, bit):
    data = bytearray.fromhex(stored["data"])
    data[bit // 8] ^= 1 << bit % 8
    return dict(stored, data=data.hex())


def main():
    if not published():
        sys.exit("erasure.py: XChaCha20-Poly1305 gives another value than the one that is published")
    if sys.argv[1:] == ["--write"]:
        vectors = [{"name": name, "key": owner, "event": made, "stored": seal(owner, made)} for name, owner, made in events()]
        VECTORS.write_text(json.dumps(vectors, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        return
    if sys.argv[1:]:
        sys.exit(__doc__)
    vectors = json.loads(VECTORS.read_text(encoding="utf-8"))
    failures = []
    for vector in vectors:
        owner, made, stored = vector["key"], vector["event"], vector["stored"]
        if seal(owner, made) != stored:
            failures.append(f"{vector['name']}: sealing gives other bytes")
        wanted = {name: made[name] for name in ("subject", "actor", "content_type", "extensions", "data")}
        if open_(owner, made["id"], made["type"], stored) != wanted:
            failures.append(f"{vector['name']}: it opens as something else")
        # One bit of each byte of the short ones.
        if len(stored["data"]) < 600:
            for bit in range(0, 4 * len(stored["data"]), 9):
                if isinstance(open_(owner, made["id"], made["type"], flipped(stored, bit)), dict):
                    failures.append(f"{vector['name']}: it opens with bit {bit} flipped")
    for failure in failures:
        print(f"erasure.py: {failure}")
    if failures:
        sys.exit(1)
    print(f"{len(vectors)} envelopes are made and opened alike")


main()
