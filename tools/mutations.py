"""Tampers with logs, bundles and tiles in many ways; each has to be found, for the right reason, and nothing else may be.

    python3 tools/mutations.py TIDEMARK [SEED] [--table | --selftest]

Who tampers is clever: where a checksum would tell, it is made to fit again (tools/evidence/forger.py), so that `tidemark verify` says that all is well,
and only what was signed is left to tell. The kinds are in tools/evidence/mutants.py. Each mutant is given to `tidemark audit`, or to verify.py, and what
a tree or a signature decides also to verifiers that are not ours. Logs that nobody touched, in all states, and those that were taken apart and written
again without a change, have to be proven.

Prints one line, then what is wrong; exit code 1 if anything is. With --table a row for each kind. With --selftest each kind of finding is left out of
what the verifiers say, and each check of verify.py is taken away: then the matrix has to fail.
"""

import base64
import contextlib
import io
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

import verify  # noqa: E402
from claims import Verifiers, decoded, leaves_of, line, parse_note, signature_claim, split_notes, vkey  # noqa: E402
from forger import Forgery, Record, evidence_folder  # noqa: E402
from logs import MadeLog, Server  # noqa: E402
from mutants import KINDS  # noqa: E402
from tampering import KEY, RECEIPT, Copy, Key, audit, signature_lines, verify_bundle  # noqa: E402
from tidemark_reader.evidence import descriptor  # noqa: E402
from tidemark_reader.log import Log  # noqa: E402
from tidemark_reader.record import SESSION, USER, read_record  # noqa: E402


FLIPS = 60


class Source:
    """A log that nobody touched, and what is known of it."""

    def __init__(self, made, archive=()):
        self.path, self.made, self.archive = made.path, made, list(archive)
        records = [(offset, record) for offset, record, _ in Log(made.path).records()]
        self.receipts = [note for note in made.notes() if len(signature_lines(note)) > 1]
        self.covered = self.receipts[-1].size
        self.offsets = {kind: [offset for offset, record in records if record.kind == kind and offset < self.covered] for kind in (USER, SESSION)}
        self.receipt_offsets = [offset for offset, record in records if record.kind == RECEIPT]
        self.key_offsets = [offset for offset, record in records if record.kind == KEY]
        self.uncovered = max(offset for offset, record in records if record.kind == USER)
        self.keys = made.keys()


class World:
    """Logs, servers, keys and policies."""

    def __init__(self, tidemark, folder):
        self.tidemark, self.folder, self.number = tidemark, folder, 0
        self.server = Server(tidemark, self.place("server"))
        self.false_server = Server(tidemark, self.place("false"), "other.example/1")
        self.server_name, self.server_key = "server.example/1", Key.of_folder(self.server.folder)
        self.attacker, self.second_attacker = Key(b"attacker" * 4), Key(b"accomplice" * 3 + b"..")
        self.make_device()
        other = MadeLog(tidemark, self.place("other"), self.server)
        other.append(300, batch=100)
        other.checkpoint()
        self.other = other
        self.make_states(other)
        notes = self.sources["device"].receipts
        self.receipts, self.seconds = notes, int.from_bytes(base64.b64decode(signature_lines(notes[-1])[1].split()[2])[4:12], "big")
        device = self.sources["device"]
        self.receipt_offsets, self.key_offsets, self.covered, self.uncovered = (
            device.receipt_offsets, device.key_offsets, device.covered, device.uncovered)
        self.origin = notes[0].origin
        self.ids = bytes.fromhex(self.origin.split("/")[1] + self.origin.split("/")[2])
        self.server_lines = f"witness server {self.server.key}\nquorum server\n"
        self.pinned = self.policy_of("".join(f"log {key}\n" for _, key in device.keys) + self.server_lines)
        both = f"witness a {self.server.key}\nwitness b {self.false_server.key}\n"
        self.two_of_two = self.policy_of(both + "group both 2 a b\nquorum both\n")
        self.any_of_two = self.policy_of(both + "group either any a b\nquorum either\n")

    def place(self, name=None):
        """A path that is not there yet."""
        self.number += 1
        return os.path.join(self.folder, name or f"work-{self.number}")

    def policy_of(self, text):
        path = self.place() + ".policy"
        with open(path, "w", encoding="utf-8") as stream:
            stream.write(text)
        return path

    def vkey_of(self, key):
        return vkey(self.origin, 1, key.public)

    def spare_record(self):
        """An event that was not there."""
        record = next(record for record in Forgery(self.other.path).records if record.kind == USER)
        record.id, record.data, record.flags = bytes(15) + b"\x99", b"made up", record.flags & ~1
        return record

    @staticmethod
    def spare_line(note):
        """A signature of somebody who is not asked."""
        return Key(b"somebody" * 4).sign(note.text, "somebody.example")

    def device_lines(self, text, note):
        """The device's signature, by the key in force."""
        return [self.device[0 if note.size <= self.key_offsets[1] else 1].sign(text, self.origin)]

    def make_device(self):
        """A log with three receipts and two keys; a backup of it, and a fork of that."""
        log = MadeLog(self.tidemark, self.place("device"), self.server)
        log.append(9)
        log.checkpoint()
        keys = os.path.join(log.path, "evidence", "keys")
        self.device = [Key.of_folder(keys)]
        log.append(6)
        log.rotate()
        self.device.append(Key.of_folder(keys))
        log.append(5)
        log.checkpoint()
        backup = self.place("backup")
        shutil.copytree(log.path, backup)
        log.append(6)
        log.checkpoint()
        log.append(4)
        self.sources = {"device": Source(log), "backup": backup}
        fork = MadeLog.__new__(MadeLog)
        fork.tidemark, fork.path, fork.server, fork.count = self.tidemark, self.place("fork"), self.server, 1000
        shutil.copytree(backup, fork.path)
        fork.append(40)
        self.sources["fork"] = fork.path

    def make_states(self, other):
        """Logs in all states that nobody tampered with."""
        def made(name):
            log = MadeLog(self.tidemark, self.place(name), self.server)
            log.append(8)
            log.checkpoint()
            return log

        sealed = made("sealed")
        for count in (7, 9):
            sealed.run("seal", sealed.path)
            sealed.append(count)
            sealed.checkpoint()
        sealed.append(2)
        trimmed = made("trimmed")
        trimmed.run("seal", trimmed.path)
        trimmed.append(9)
        trimmed.checkpoint()
        leaves = leaves_of(trimmed.path)
        floor = int(json.loads(trimmed.run("trim", trimmed.path, "--below", str(trimmed.notes()[-1].size), "--json"))["first"])
        trimmed.append(3)
        trimmed.checkpoint()
        trimmed.append(2)
        # The same, but that the key was changed before, and that no receipt came since.
        early = made("early")
        early.rotate()
        early.append(3)
        early.run("seal", early.path)
        early.append(9)
        early.checkpoint()
        leaves_before = leaves_of(early.path)
        first = int(json.loads(early.run("trim", early.path, "--below", str(early.notes()[-1].size), "--json"))["first"])
        just_trimmed = Source(early, leaves_before[:first])
        killed = made("killed")
        for _ in range(3):
            killed.kill_writer()
            killed.checkpoint()
        killed.append(1)
        changed = made("changed")
        changed.append(4, at="2001-02-03T04:05:06+02:00")
        changed.append(4, at="2199-02-03T04:05:06Z")
        changed.checkpoint()
        # What can't be had without setting this system's clock back: an event before that, by the device's clock.
        forgery = Forgery(changed.path)
        record = Record(next(record for record in forgery.records if record.kind == USER).encode())
        record.id, record.flags, record.time, record.clock = bytes(15) + b"\x01", record.flags & ~1, 1, 0x12
        forgery.append(record)
        forgery.write(changed.path)
        changed.append(2)
        changed.checkpoint()
        changed.append(2)
        changed.checkpoint(countersigned=False)
        before = made("before")
        salvaged = before.salvage(self.place("salvaged"))
        self.sources["unsigned"] = self.place("unsigned")
        shutil.copytree(salvaged.path, self.sources["unsigned"])
        salvaged.append(3)
        salvaged.checkpoint()
        salvaged.append(1)
        erased, keys = made("erased"), self.place()
        erased.append(6, options=("--encrypt-subjects", keys))
        erased.checkpoint()
        erased.run("erase", erased.path, "gate-1", "--subject-keys", keys, "--confirm", "gate-1")
        erased.append(2)
        erased.checkpoint()
        erased.append(1)
        self.sources.update(other=Source(other), sealed=Source(sealed), trimmed=Source(trimmed, leaves[:floor]), killed=Source(killed),
                            changed=Source(changed), erased=Source(erased), salvaged=Source(salvaged), just_trimmed=just_trimmed)


class Mutant:
    """Something tampered with, what its verifier is given, and what is said to it."""

    def __init__(self, world, row, generator):
        self.world, self.row, self.random = world, row, generator
        source = world.sources[row.get("source", "device")]
        self.source = source if isinstance(source, Source) else world.sources["device"]
        self.path = source.path if isinstance(source, Source) else source
        self.policy, self.witnesses, self.below = world.server.policy, [world.server.key], None
        self.keys = world.sources["device" if row.get("source") == "other" else row.get("source", "device")]
        self.keys = self.keys.keys if isinstance(self.keys, Source) else world.sources["device"].keys
        self.asks_others, self.answer, self.chosen_before = True, None, []
        self.log = self.bundle = self.tiles = None
        if row["given"].startswith("bundle"):
            self.bundle = world.place()
            shutil.copytree(world.bundle, self.bundle)
        elif row["given"].startswith("tiles"):
            self.tiles = world.place()
            shutil.copytree(world.tiles, self.tiles)
        else:
            self.log = Copy(self.path, world.place())
        row["make"](self)

    # What the kinds use

    def choose(self, kind=USER, but_not=False):
        """An offset of an event that a receipt covers; with `but_not` another than before, and one that differs."""
        offsets = self.source.offsets[kind]
        choice = self.random.choice([offset for offset in offsets if not (but_not and offset in self.chosen_before)])
        self.chosen_before.append(choice)
        return choice

    def chosen(self, but_not=False):
        """Likewise, of a bundle: one whose proof has hashes."""
        with open(os.path.join(self.bundle, "manifest.json"), encoding="utf-8") as stream:
            offsets = json.load(stream)["chosen"]
        choice = self.random.choice([offset for offset in offsets if not (but_not and offset in self.chosen_before)])
        self.chosen_before.append(choice)
        return choice

    def bundle_notes(self):
        with open(os.path.join(self.bundle, "notes"), "rb") as stream:
            return split_notes(stream.read())

    def replace_notes(self, change):
        """Puts others in the place of notes, in the proofs too."""
        new = {note.whole: change(note).whole for note in self.bundle_notes()}
        for name in ["notes", *(os.path.join("proofs", name) for name in os.listdir(os.path.join(self.bundle, "proofs")))]:
            path = os.path.join(self.bundle, name)
            with open(path, "rb") as stream:
                data = stream.read()
            for before, after in new.items():
                data = data.replace(before, after)
            with open(path, "wb") as stream:
                stream.write(data)

    @property
    def segments(self):
        return os.path.join(self.log.path, "segments")

    def overwrite(self, offset, change):
        """Changes a record where it stands, as far as its length allows, and nothing else."""
        forgery = Forgery(self.log.path)
        before = forgery.record(offset).encode()
        change(forgery)
        after = forgery.record(offset).encode()
        if len(after) != len(before):
            after = before[:-1] + bytes([before[-1] ^ 1])
        for name in os.listdir(self.segments):
            path = os.path.join(self.segments, name)
            with open(path, "rb") as stream:
                data = stream.read()
            with open(path, "wb") as stream:
                stream.write(data.replace(before, after))

    def give_receipt(self):
        """The auditor has the server's newest receipt, and looks at the log with it."""
        self.log.notes = [*self.log.notes, self.world.receipts[-1]]

    def ask_server(self):
        """The device asks the server to countersign what it has now."""
        server = self.world.place()
        shutil.copytree(self.world.server.folder, server)
        done = subprocess.run([self.world.tidemark, "checkpoint", self.log.path, "--countersign", server], capture_output=True)
        told = b"a history went back or was changed" in done.stderr or b"is not proven to be a continuation" in done.stderr
        self.answer = ("proven" if done.returncode == 0 else "refuted", {"refused" if told else done.stderr.decode()[:99]: "refuted"})

    def keep_tree_of(self, change):
        """Keeps the tree of a changed log beside the unchanged one."""
        other = Copy(self.log.path, self.world.place())
        other.edit(change)
        shutil.copyfile(os.path.join(evidence_folder(other.path), "frontier"), os.path.join(evidence_folder(self.log.path), "frontier"))

    def reidentify(self, **ids):
        forgery = Forgery(self.log.path)
        forgery.reidentify(**ids)
        if "epoch" in ids:
            place = evidence_folder(self.log.path)
            os.rename(place, os.path.join(os.path.dirname(place), ids["epoch"].hex()))
        forgery.write(self.log.path)

    # What is said

    def looks_well(self):
        """Whether the tool finds nothing wrong with the log as such."""
        return self.log is None or subprocess.run([self.world.tidemark, "verify", self.log.path], capture_output=True).returncode == 0

    def judge(self):
        """Ours: the verdict and the kinds of findings."""
        if self.answer:
            return self.answer
        if self.bundle:
            return verify_bundle(self.bundle, self.policy)
        if self.tiles:
            return ("proven", {}) if same_files(self.tiles, self.world.tiles) else ("refuted", {"tile-differs": "refuted"})
        return audit(self.world.tidemark, self.log.path, self.policy, *(("--below", str(self.below)) if self.below else ("--receipted",)))

    def claims(self):
        """What others are asked."""
        if not self.asks_others:
            return []
        if self.tiles:
            note = self.world.other.notes()[-1]
            return [{"kind": "tiles", "folder": self.tiles, "size": note.size, "root": note.root}]
        if self.bundle:
            return bundle_claims(self.bundle, self.keys, self.witnesses)
        return self.log.claims(self.keys, self.witnesses, self.source.archive)


def same_files(one, two):
    def contents(folder):
        for place, _, names in os.walk(folder):
            for name in names:
                with open(os.path.join(place, name), "rb") as stream:
                    yield os.path.relpath(os.path.join(place, name), folder), stream.read()
    return dict(contents(one)) == dict(contents(two))


def bundle_claims(bundle, keys, witnesses):
    """Proofs of a bundle for the records in it and for the descriptors in the proofs, its steps, its notes."""
    def read(name):
        with open(os.path.join(bundle, name), "rb") as stream:
            return stream.read()

    found = []
    try:
        for text in read("events.jsonl").splitlines():
            event = json.loads(text)
            header, _, whole = read(f"proofs/{event['offset']}.tlog-proof").partition(b"\n\n")
            note, lines, raw = parse_note(whole), header.decode().split("\n"), base64.b64decode(event["record"])
            leaf = descriptor(read_record(raw, 0, len(raw)), base64.b64decode(event["session"]))
            for data in {leaf, base64.b64decode(lines[1][6:])}:
                found.append({"kind": "inclusion", "leaf": data, "index": event["offset"], "size": note.size, "root": note.root,
                              "hashes": decoded(lines[3:])})
        notes = split_notes(read("notes"))
        roots = {note.size: note.root for note in notes}
        for step in json.loads(read("consistency.json")):
            found.append({"kind": "consistency", "from": step["from"], "old": roots[step["from"]], "size": step["to"], "root": roots[step["to"]],
                          "hashes": decoded(step["hashes"])})
        for note in notes:
            found.append(signature_claim(note, [key for offset, key in keys if offset < note.size][-1]))
            found += [signature_claim(note, key) for key in witnesses]
    except Exception:  # a bundle that can't be read is nothing to ask about
        return []
    return found


class Others:
    """Verifiers that are not ours, asked once about all claims."""

    def __init__(self, folder):
        self.verifiers, self.claims = Verifiers(folder), {}

    def add(self, claims):
        keys = [line(claim) for claim in claims]
        self.claims.update(zip(keys, claims))
        return keys

    def ask(self):
        keys = list(self.claims)
        self.no = {key: set() for key in keys}
        for name, answers in self.verifiers.ask([self.claims[key] for key in keys]).items():
            for key, answer in zip(keys, answers):
                if answer.startswith("no"):
                    self.no[key].add(name)

    def rejecting(self, keys):
        return sorted(set().union(*(self.no[key] for key in keys)) if keys else ())


def untouched(world, others):
    """What has to be proven; yields a name, and what speaks against it."""
    tidemark, policy = world.tidemark, world.server.policy
    for name, source in world.sources.items():
        if not isinstance(source, Source):
            continue
        yield name, audit(tidemark, source.path, policy, "--receipted"), others.add(
            Copy(source.path, world.place()).claims(source.keys, [world.server.key], source.archive))
        bundle, first = world.place(), len(source.archive)
        source.made.run("bundle", source.path, bundle, "--policy", policy, "--from", str(first), "--to", str(source.covered))
        # Where the key event behind the floor is not covered yet, the policy has to say which key it is.
        given = policy if any(offset < source.covered for offset, _ in source.keys) else world.policy_of(
            "".join(f"log {key}\n" for _, key in source.keys) + world.server_lines)
        yield name + ", bundle", verify_bundle(bundle, given), others.add(bundle_claims(bundle, source.keys, [world.server.key]))
        # The forger itself must leave no traces.
        again = Copy(source.path, world.place())
        again.edit(lambda forgery: None, keeps_tree=bool(source.archive))
        yield name + ", written again", audit(tidemark, again.path, policy, "--receipted"), []
    device = world.sources["device"]
    for name, given in (("pinned", world.pinned), ("any of two", world.any_of_two)):
        yield name, audit(tidemark, device.path, given, "--receipted"), []
        yield name + ", bundle", verify_bundle(world.bundle, given), []

    def both(text, note):
        names = ((world.server_name, world.server_key), ("other.example/1", Key.of_folder(world.false_server.folder)))
        more = [key.cosign(text, name, world.seconds) for name, key in names] if len(signature_lines(note)) > 1 else []
        return world.device_lines(text, note) + more
    # Device and servers together can do what they like; that it passes shows that nothing but signatures stops the others.
    together = Copy(device.path, world.place())
    together.sign_again(lambda forgery: setattr(forgery.record(device.offsets[USER][0]), "data", b"0"), both)
    yield "device and servers together", audit(tidemark, together.path, world.two_of_two, "--receipted"), []


def flip_bytes(world, generator, count):
    """Changes single bytes of a bundle, anywhere: verify.py may only say what it said, or no. What it did else."""
    def said(folder):
        written = io.StringIO()
        with contextlib.redirect_stdout(written):
            code = verify.main(["--policy", world.server.policy, folder])
        return code, written.getvalue()

    expected, wrong = said(world.bundle), []
    names = ["manifest.json", "events.jsonl", "notes", "consistency.json"] + 3 * [f"proofs/{name}" for name in os.listdir(f"{world.bundle}/proofs")]
    for _ in range(count):
        folder, name = world.place(), generator.choice(names)
        shutil.copytree(world.bundle, folder)
        with open(os.path.join(folder, name), "rb") as stream:
            data = bytearray(stream.read())
        at, value = generator.randrange(len(data)), generator.randrange(256)
        data[at] = value
        with open(os.path.join(folder, name), "wb") as stream:
            stream.write(data)
        try:
            found = said(folder)
            if found != expected and (found[0] != 1 or not found[1].endswith(("refuted\n", "unproven\n"))):
                wrong.append(f"byte {at} of {name} made {value}: {found[1][-200:]}")
        except Exception as problem:
            wrong.append(f"byte {at} of {name} made {value}: {type(problem).__name__}")
        shutil.rmtree(folder)
    return wrong


def without(answer, kind):
    """What would be said if a kind of finding were not looked for."""
    verdict, found = answer
    rest = {name: weight for name, weight in found.items() if name != kind}
    if verdict == "proven" or "failed" in verdict:
        return verdict, rest
    weights = [weight for weight in rest.values() if weight != "not-checked"]
    return ("refuted" if "refuted" in weights else "unproven" if weights else "proven"), rest


def wrong_with(row, answer, others):
    """What is wrong with what was said to a mutant; empty if nothing is."""
    verdict, found = answer
    if verdict not in ("refuted", "unproven"):
        return f"it is {verdict}: {found}"
    if found.get(row["reason"], "not-checked") == "not-checked":
        return f"not for {row['reason']}, but for {found}"
    if row["verdict"] != verdict:
        return f"it is {verdict}, not {row['verdict']}: {found}"
    if row["foreign"] and not others:
        return "no verifier that is not ours rejects it"
    return ""


# Of verify.py: text, and what stands there if a check is not made.
CHECKS = (
    ("    return not (total[0] - nonce[0]", "    return True or not (total[0] - nonce[0]"),
    ('good = (root, unbase64(extra[6:])) ==', 'good = True or (root, unbase64(extra[6:])) =='),
    ('demand(roots == (before.root, after.root)', 'demand(True'),
    ('demand(self.policy.is_met(times)', 'demand(times'),
    ('demand(any(note.signature(self.origin, key, 1) for key in keys)', 'demand(True'),
    ('demand(note.origin == self.origin', 'demand(True'),
    ('demand(good and before.size <= after.size', 'demand(True'),
    ('demand(number(index[6:]) == event.offset', 'demand(True'),
    ('demand(pinned or (self.keys and not self.policy.logs)', 'demand(True'),
)


def selftest(world, results, others):
    """Takes checks away; each time the matrix has to fail. What passed nevertheless."""
    passed = []
    reasons = sorted({row["reason"] for row, _, _, _ in results})
    for reason in reasons:
        if not any(wrong_with(row, without(answer, reason), others.rejecting(keys)) for row, _, answer, keys in results):
            passed.append(f"findings of the kind {reason} are not missed")
    if not any(wrong_with(row, answer, []) for row, _, answer, _ in results):
        passed.append("verifiers that are not ours are not missed")
    with open(os.path.join(HERE, "evidence", "verify.py"), encoding="utf-8") as stream:
        script = stream.read()
    for check, instead in CHECKS:
        if check not in script:
            raise SystemExit(f"verify.py has no `{check}` any more: see CHECKS")
        path = world.place() + ".py"
        with open(path, "w", encoding="utf-8") as stream:
            stream.write(script.replace(check, instead))
        bundles = [(row, mutant) for row, mutant, _, _ in results if mutant.bundle]
        if not any(wrong_with(row, verify_bundle(mutant.bundle, mutant.policy, path), ["-"]) for row, mutant in bundles):
            passed.append(f"verify.py passes without `{check.strip()[:60]}`")
    return len(reasons) + 1 + len(CHECKS), passed


def main():
    options = [word for word in sys.argv[1:] if word.startswith("--")]
    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    tidemark, seed = os.path.abspath(words[0]), int(words[1]) if len(words) > 1 else 1
    start, folder = time.monotonic(), tempfile.mkdtemp(prefix="mutations-")
    complaints, results, rows = [], [], []
    try:
        world, others = World(tidemark, folder), Others(folder)
        world.bundle, world.tiles = world.place(), world.place()
        device = world.sources["device"]
        device.made.run("bundle", device.path, world.bundle, "--policy", world.server.policy, "--from", "0", "--to", str(device.covered))
        world.other.run("tiles", world.other.path, world.tiles)
        for row in KINDS:
            for number in range(row["count"]):
                mutant = Mutant(world, row, random.Random(f"{seed} {row['name']} {number}"))
                # `is_told`: of a loss, `verify` tells in any case.
                if row["reason"] != "storage" and not row.get("is_told") and not mutant.looks_well():
                    complaints.append(f"{row['name']}: a checksum tells")
                results.append((row, mutant, mutant.judge(), others.add(mutant.claims())))
        complaints += flip_bytes(world, random.Random(f"{seed} bytes"), FLIPS)
        alarms = list(untouched(world, others))
        others.ask()
        wrong = [(row, wrong_with(row, answer, others.rejecting(keys))) for row, _, answer, keys in results]
        complaints += [f"{row['name']}: {why}" for row, why in wrong if why]
        false_alarms = [f"{name}: {answer} {others.rejecting(keys)}" for name, answer, keys in alarms if answer[0] != "proven" or others.rejecting(keys)]
        for row in KINDS:
            said = sorted({name for other, _, _, keys in results if other is row for name in others.rejecting(keys)})
            rows.append(f"| {row['name']} | {row['given']} | {row['verdict']}: {row['reason']} | "
                        f"{', '.join(said) or '-: ' + row.get('why', 'not asked')} |")
        rejected = sum(answer[0] in ("refuted", "unproven") for _, _, answer, _ in results)
        foreign = sum(bool(others.rejecting(keys)) for _, _, _, keys in results)
        taken, passed = selftest(world, results, others) if "--selftest" in options else (0, [])
    finally:
        shutil.rmtree(folder)
    print(f"layer=mutations kinds={len(KINDS)} mutants={len(results)} rejected={rejected} foreign={foreign} "
          f"wrong_reason={sum(bool(why) for _, why in wrong)} flips={FLIPS} untouched={len(alarms)} false_alarms={len(false_alarms)} seed={seed}"
          + (f" checks_taken_away={taken} not_missed={len(passed)}" if taken else "") + f" seconds={time.monotonic() - start:.0f}")
    for text in [*complaints, *("false alarm: " + text for text in false_alarms), *passed][:60]:
        print("  " + text)
    if "--table" in options:
        print("\n".join(["| kind | given | said | also by |", "|---|---|---|---|", *rows]))
    return 1 if complaints or false_alarms or passed or rejected < len(results) else 0


if __name__ == "__main__":
    sys.exit(main())
