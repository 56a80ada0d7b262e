"""Checks claims about a history with packages that are not ours: pymerkle, and tlog-scales with the Ed25519 of `cryptography`.

    python3 tools/evidence/packages.py (pymerkle | tlog-scales) < CLAIMS

The packages are those of requirements.txt, which tools/setup installs below .build. A claim is a line of JSON, see claims.py. Prints for each
one line: `ok`, `no` and why, or `-` for a kind that the package does not know.
"""

import base64
import importlib
import json
import os
import sys

PACKAGES = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), ".build", "verifiers")
sys.path.insert(0, PACKAGES)


def agree(found, expected, what):
    if found != expected:
        raise ValueError(f"{what}: {found!r} in place of {expected!r}")


class Pymerkle:
    """Trees, and proofs of inclusion. Its proofs of consistency have another form: it makes its own from the leaves."""

    def __init__(self):
        self.module = importlib.import_module("pymerkle")
        self.hasher = importlib.import_module("pymerkle.hasher").MerkleHasher("sha256")
        self.trees = {}

    def rule(self, index, size):
        """On which side the node lies at each step of a proof, from the leaf on, as pymerkle writes it."""
        start, end, side, sides = 0, size, 0, []
        while end - start > 1:
            split = start + (1 << (end - start - 1).bit_length() - 1)
            sides.append(side)
            start, end, side = (start, split, 0) if index < split else (split, end, 1)
        return [side] + sides[::-1]

    def inclusion(self, claim):
        index, size = claim["index"], claim["size"]
        leaf = self.hasher.hash_buff(claim["leaf"])
        proof = self.module.InclusionProof("sha256", True, size, index + 1, self.rule(index, size), [leaf] + claim["hashes"])
        self.module.verify_inclusion(leaf, claim["root"], proof, index=index + 1, size=size, algorithm="sha256")

    def tree(self, claim):
        """The root over all leaves; those of a history that grows are added to the tree that is there."""
        leaves = claim["leaves"]
        tree, known = self.trees.get(leaves[0], (None, []))
        if tree is None or leaves[: len(known)] != known and known[: len(leaves)] != leaves:
            tree, known = self.module.InmemoryTree(algorithm="sha256"), []
        for leaf in leaves[len(known):]:
            tree.append_entry(leaf)
        self.trees[leaves[0]] = (tree, max(leaves, known, key=len))
        agree(tree.get_root(len(leaves)), claim["root"], "the root of the leaves")
        if claim.get("from"):
            proof = tree.prove_consistency(claim["from"], len(leaves))
            self.module.verify_consistency(claim["old"], claim["root"], proof, claim["from"], len(leaves), algorithm="sha256")


class TlogScales:
    """Proofs, notes, cosignatures, and directories of tiles."""

    def __init__(self):
        names = ("tlog", "signing", "reader", "backend", "tiles")
        self.tlog, self.signing, self.reader, self.backend, self.tiles_ = (importlib.import_module("tlog_scales." + name) for name in names)

    def inclusion(self, claim):
        proof = self.tlog.InclusionProof(claim["index"], claim["size"], claim["hashes"])
        proof.check(self.tiles_.leaf_hash(claim["leaf"]), claim["root"])

    def consistency(self, claim):
        self.tlog.ConsistencyProof(claim["from"], claim["size"], claim["hashes"]).check(claim["old"], claim["root"])

    def signature(self, claim):
        checkpoint = self.tlog.Checkpoint.from_text(claim["note"])
        agree((checkpoint.size, checkpoint.root_hash), (claim["size"], claim["root"]), "the checkpoint")
        checkpoint.verify(self.signing.Vkey.from_string(claim["key"]))

    cosignature = signature

    def tiles(self, claim):
        """Reads all of a directory of tiles: its root, each entry, and a proof for each."""
        reader = self.reader.TilesReader(self.backend.LocalBackend(self.backend.Path(claim["folder"])))
        checkpoint = reader.get_checkpoint()
        agree((checkpoint.size, checkpoint.root_hash), (claim["size"], claim["root"]), "the checkpoint")
        agree(reader.calculate_root_hash(), checkpoint.root_hash, "the root of the tiles")
        for index in range(checkpoint.size):
            leaf = self.tiles_.leaf_hash(reader.get_entry(index))
            reader.get_inclusion_proof(index, checkpoint.size).check(leaf, checkpoint.root_hash)


BINARY = ("leaf", "root", "old")


def main():
    verifier = {"pymerkle": Pymerkle, "tlog-scales": TlogScales}[sys.argv[1]]()
    for line in sys.stdin:
        claim = json.loads(line)
        try:
            claim.update({name: base64.b64decode(claim[name]) for name in BINARY if name in claim})
            claim.update({name: [base64.b64decode(text) for text in claim[name]] for name in ("hashes", "leaves") if name in claim})
            check = getattr(verifier, claim["kind"], None)
            if check:
                check(claim)
            print("ok" if check else "-")
        except Exception as problem:  # a package says no in many ways
            print("no", type(problem).__name__, ascii(str(problem))[:200])


if __name__ == "__main__":
    main()
