"""Has verifiers that are not ours check what the tool says about its logs' histories.

    python3 tools/foreign.py TIDEMARK [SEED [STEP]]

The verifiers: Go's packages sumdb/note and sumdb/tlog, PyPI's pymerkle and tlog-scales, and the command line of OpenSSL (tools/evidence/). First they,
and tools/evidence/verify.py, are given published values: of RFC 6962 trees, of RFC 8032, and each STEP-th of the vectors in cryptography-vectors, also
altered. Then some logs are made, and they check: the tree over all descriptors, which the independent reader computes, for each note; a proof of each
event in it; a proof of consistency for each two sizes; the device's and the server's signature under each note; a directory of tiles; the proofs of a
bundle, which verify.py has to accept.

Prints one line; exit code 1 if anybody disagrees.
"""

import collections
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "evidence"))

import published  # noqa: E402
import verify  # noqa: E402
from claims import Verifiers, decoded, encoded, leaves_of, openssl_verify, parse_note, signature_claim, tree_claim  # noqa: E402
from logs import MadeLog, Server  # noqa: E402
from packages import PACKAGES  # noqa: E402


def make_logs(tidemark, folder, server):
    """Logs in the states that evidence can be in."""
    def made(name):
        return MadeLog(tidemark, os.path.join(folder, name), server)

    plain, rotated, sealed, killed, many = map(made, ("plain", "rotated", "sealed", "killed", "many"))
    for size in (1, 2, 5):
        plain.append(size)
        plain.checkpoint(countersigned=size > 1)
    rotated.append(5)
    for _ in range(3):
        rotated.checkpoint()
        rotated.rotate()
        rotated.append(4)
    rotated.checkpoint()
    for _ in range(3):
        sealed.append(20)
        sealed.checkpoint()
        sealed.run("seal", sealed.path)
    killed.append(7)
    killed.checkpoint()
    killed.kill_writer()
    killed.checkpoint()
    killed.append(3)
    killed.checkpoint(countersigned=False)
    many.append(250, batch=50)
    many.checkpoint()
    many.append(420, batch=60)
    many.checkpoint()
    return [plain, rotated, sealed, killed, many]


def claims_of(log, generator, limit):
    """What the tool says of a log: each claim with what it is about."""
    leaves, notes = leaves_of(log.path), log.notes()
    if len(notes) < 2:
        raise SystemExit(f"{log.path}: {len(notes)} notes")
    for note in notes:
        yield tree_claim(leaves, note)
        yield signature_claim(note, log.key_at(note.size))
        if note.whole.count(b"\n\xe2\x80\x94 ") > 1:
            yield signature_claim(note, log.server.key)
    newest = notes[-1]
    offsets = range(newest.size) if newest.size <= limit else sorted(generator.sample(range(newest.size), limit))
    for offset in offsets:
        hashes = log.run("proof", log.path, str(offset), "--size", str(newest.size)).decode().split()
        yield {"kind": "inclusion", "leaf": leaves[offset], "index": offset, "size": newest.size, "root": newest.root,
               "hashes": [bytes.fromhex(text) for text in hashes]}
    roots = {note.size: note.root for note in notes}
    for old in sorted(roots):
        for size in (size for size in sorted(roots) if size > old):
            proof = json.loads(log.run("proof", log.path, "--from", str(old), "--to", str(size)))
            yield {"kind": "consistency", "from": proof["from"], "old": roots[old], "size": proof["to"], "root": roots[size],
                   "hashes": decoded(proof["hashes"])}
            yield {**tree_claim(leaves, next(note for note in notes if note.size == size)), "from": old, "old": roots[old]}
    tiles = log.path + "-tiles"
    log.run("tiles", log.path, tiles)
    yield {"kind": "tiles", "folder": tiles, "size": newest.size, "root": newest.root}


def check_bundle(log):
    """Claims about the proofs of a bundle, and what verify.py says to it."""
    bundle, covered = log.path + "-bundle", log.notes()
    covered = max(note.size for note in covered if note.whole.count(b"\n\xe2\x80\x94 ") > 1)
    log.run("bundle", log.path, bundle, "--policy", log.server.policy, "--from", "0", "--to", str(covered))
    leaves, claims = leaves_of(log.path), []
    for name in os.listdir(os.path.join(bundle, "proofs")):
        with open(os.path.join(bundle, "proofs", name), "rb") as stream:
            header, _, whole = stream.read().partition(b"\n\n")
        lines, note = header.decode().split("\n"), parse_note(whole)
        offset = int(name.split(".")[0])
        claims.append({"kind": "inclusion", "leaf": leaves[offset], "index": offset, "size": note.size, "root": note.root,
                       "hashes": decoded(lines[3:])})
        if (lines[1], lines[2]) != (f"extra {encoded(leaves[offset])}", f"index {offset}"):
            raise SystemExit(f"{bundle}: the proof of {offset} is for something else")
    script = os.path.join(bundle, "verify.py")
    with open(script, "rb") as own, open(os.path.join(HERE, "evidence", "verify.py"), "rb") as other:
        if own.read() != other.read():
            raise SystemExit(f"{script} is another than that of tools/evidence")
    said = subprocess.run([sys.executable, script, "--policy", log.server.policy], capture_output=True)
    return claims, [] if said.returncode == 0 and not said.stderr else [f"verify.py, {log.path}: {said.stdout.decode()[-300:]}"]


def check_signatures(folder, step, wrong):
    """Published signatures, and altered ones; how many were looked at."""
    count = 0
    for key, message, signature in published.signatures(PACKAGES, step):
        late = signature[:32] + ((int.from_bytes(signature[32:], "little") + verify.ORDER) % 2**256).to_bytes(32, "little")
        for altered in ((message + b"x", signature), (message, late), (message, bytes([signature[0] ^ 1]) + signature[1:])):
            if verify.is_signed(key, *altered):
                wrong.append(f"verify.py accepts an altered signature of {key.hex()}")
        # OpenSSL's command takes no empty message.
        if not verify.is_signed(key, message, signature) or (count % 20 == 1 and not openssl_verify(key, message, signature, folder)):
            wrong.append(f"a published signature of {key.hex()} is refused")
        count += 1
    return count


def main():
    tidemark = os.path.abspath(sys.argv[1])
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    step = int(sys.argv[3]) if len(sys.argv) > 3 else 8
    generator, start, wrong, counts = random.Random(seed), time.monotonic(), [], collections.Counter()
    folder = tempfile.mkdtemp(prefix="foreign-")
    try:
        verifiers = Verifiers(folder)
        signatures = check_signatures(folder, step, wrong)

        def ask(claims, what):
            for name, answers in verifiers.ask(claims).items():
                for claim, answer in zip(claims, answers):
                    if answer.startswith("no"):
                        wrong.append(f"{name}, {what}, {claim['kind']} of size {claim.get('size')}: {answer}")
            counts.update(claim["kind"] for claim in claims)

        ask(published.claims(), "published values")
        logs = make_logs(tidemark, folder, Server(tidemark, os.path.join(folder, "server")))
        for log in logs:
            ask(list(claims_of(log, generator, 120)), os.path.basename(log.path))
            claims, complaints = check_bundle(log)
            ask(claims, os.path.basename(log.path) + ", bundle")
            wrong += complaints
    finally:
        shutil.rmtree(folder)
    print(f"layer=evidence logs={len(logs)} vectors={signatures} claims={sum(counts.values())} answers={sum(verifiers.counts.values())} "
          f"disagreed={len(wrong)} seed={seed} " + " ".join(f"{kind}={counts[kind]}" for kind in sorted(counts))
          + f" seconds={time.monotonic() - start:.0f}")
    for line in wrong[:20]:
        print("  " + line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
