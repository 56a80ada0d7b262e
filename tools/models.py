"""Has Spin check the models in Specs/models/: the true ones must hold, and each refuted variant must fail for the property it is kept for.

    python3 tools/models.py              within about 20 seconds on two cores
    python3 tools/models.py --large      larger bounds, for campaigns: minutes, and gigabytes of memory
    python3 tools/models.py --table      as well, one line for each search, for Specs/models/README.md
    python3 tools/models.py --selftest   give the runner models that must not pass, and fail if one does

A search counts only if it is complete: no depth limit reached, no statement of a true model that no run reaches. Prints one line; exit code 1 if
anything is wrong. Without Spin or a C compiler the line says so, and the exit code is 0.
"""

import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

MODELS = pathlib.Path(__file__).resolve().parent.parent / "Specs" / "models"
DEPTH = 200_000

# The bounds under which the true models must hold: model, what is looked at, macros.
CRASHES_ONLY = "OFFSETS=2 EVENTS=2 CRASHES=2 SERVER_SETBACKS=0 DEVICE_SETBACKS=0"
SERVER_SET_BACK = "OFFSETS=2 EVENTS=3 CRASHES=0 FRAMES=1 SERVER_SETBACKS=1 DEVICE_SETBACKS=0"
DEVICE_SET_BACK = "OFFSETS=2 EVENTS=3 CRASHES=0 FRAMES=1 SERVER_SETBACKS=0 DEVICE_SETBACKS=1"
BOTH_SET_BACK = "OFFSETS=1 EVENTS=2 CRASHES=0 ANSWERS=1 SERVER_SETBACKS=1 DEVICE_SETBACKS=1"
CRASH_PROGRESS = "PROGRESS OFFSETS=2 EVENTS=2 CRASHES=1 FRAMES=1 ANSWERS=1 LOSSES=1 COPIES=1 SERVER_SETBACKS=0 DEVICE_SETBACKS=0"
SERVER_PROGRESS = "PROGRESS OFFSETS=2 EVENTS=2 CRASHES=0 FRAMES=1 ANSWERS=1 LOSSES=1 COPIES=0 SERVER_SETBACKS=1 DEVICE_SETBACKS=0"
DEVICE_PROGRESS = "PROGRESS OFFSETS=2 EVENTS=3 CRASHES=0 FRAMES=1 ANSWERS=1 LOSSES=0 COPIES=0 SERVER_SETBACKS=0 DEVICE_SETBACKS=1"
MORE_CRASHES = "EVENTS=2 CRASHES=3 FAULTS=2"
MORE_EVENTS = "EVENTS=3 CRASHES=2 FAULTS=1"
CLOSED = "STARTS_CLOSED EVENTS=2 CRASHES=2 FAULTS=2"
TRUE_MODELS = (
    ("commit", MORE_CRASHES),
    ("commit", MORE_EVENTS),
    ("commit", CLOSED),
    ("replication", CRASHES_ONLY),
    ("replication", SERVER_SET_BACK),
    ("replication", DEVICE_SET_BACK),
    ("replication", BOTH_SET_BACK),
    ("replication", CRASH_PROGRESS),
    ("replication", SERVER_PROGRESS),
    ("replication", DEVICE_PROGRESS),
)
LARGE_MODELS = (
    ("commit", "EVENTS=2 CRASHES=4 FAULTS=2 PLACES=6 FILES=6"),
    ("commit", "EVENTS=2 CRASHES=3 FAULTS=3 FILES=6"),
    ("commit", "EVENTS=3 CRASHES=3 FAULTS=2 FILES=6"),
    ("commit", "EVENTS=4 CRASHES=2 FAULTS=1 FILES=6"),
    ("replication", "OFFSETS=3 EVENTS=3 CRASHES=2 SERVER_SETBACKS=0 DEVICE_SETBACKS=0"),
    ("replication", "OFFSETS=2 EVENTS=2 CRASHES=1 FRAMES=2 ANSWERS=2 SERVER_SETBACKS=1 DEVICE_SETBACKS=0"),
    ("replication", "OFFSETS=2 EVENTS=3 CRASHES=0 FRAMES=2 ANSWERS=2 SERVER_SETBACKS=0 DEVICE_SETBACKS=1"),
    ("replication", "OFFSETS=2 EVENTS=3 CRASHES=0 FRAMES=1 ANSWERS=1 SERVER_SETBACKS=1 DEVICE_SETBACKS=1"),
    ("replication", "PROGRESS OFFSETS=3 EVENTS=3 CRASHES=2 FRAMES=1 ANSWERS=1 LOSSES=2 COPIES=1 SERVER_SETBACKS=0 DEVICE_SETBACKS=0"),
    ("replication", "PROGRESS OFFSETS=2 EVENTS=3 CRASHES=0 FRAMES=1 ANSWERS=1 LOSSES=1 COPIES=1 SERVER_SETBACKS=1 DEVICE_SETBACKS=0"),
    ("replication", "PROGRESS OFFSETS=2 EVENTS=3 CRASHES=0 FRAMES=1 ANSWERS=1 LOSSES=1 COPIES=1 SERVER_SETBACKS=0 DEVICE_SETBACKS=1"),
)

# Refuted variants: model, macro, the property that must fail, bounds. Specs/models/README.md has a paragraph for each.
VARIANTS = (
    ("commit", "NO_SYNC", "KEPT", MORE_CRASHES),
    ("commit", "ACK_BEFORE_SYNC", "KEPT", MORE_CRASHES),
    ("commit", "ACK_GATHERED", "KEPT", MORE_CRASHES),
    ("commit", "SHOW_BEFORE_SYNC", "ONE_CONTENT", MORE_CRASHES),
    ("commit", "RETRY_FAILED_SYNC", "ON_DISK", MORE_CRASHES),
    ("commit", "WRITE_ON_AFTER_FAILURE", "KEPT", MORE_CRASHES),
    ("commit", "PIN_IGNORED", "KEPT", MORE_EVENTS),
    ("commit", "NO_LOOKUP", "ONCE", MORE_CRASHES),
    ("commit", "DURABLE_TOO_EARLY", "NO_ALARM", MORE_CRASHES),
    ("commit", "NO_DIRECTORY_SYNC", "KEPT", MORE_CRASHES),
    ("commit", "DIRECTORY_FORGETS", "KEPT", MORE_CRASHES),
    ("commit", "FOUND_NAME_TRUSTED", "KEPT", MORE_CRASHES),
    ("commit", "CLOSE_TRUSTED", "KEPT", MORE_CRASHES),
    ("commit", "CLOSE_AGAIN", "KEPT", MORE_CRASHES),
    ("commit", "SERVE_WITHOUT_REWRITE", "STAYS", MORE_CRASHES),
    ("commit", "TAIL_LEFT", "ONCE", MORE_CRASHES),
    ("commit", "FRESH_NOT_SYNCED", "KEPT", MORE_CRASHES),
    ("commit", "OLD_REMOVED_FIRST", "KEPT", MORE_CRASHES),
    ("commit", "REWRITE_BEFORE_DIRECTORY", "NO_ALARM", MORE_CRASHES + " FILES=5"),
    ("commit", "CLOSED_NAME_TRUSTED", "KEPT", CLOSED),
    ("commit", "REPLACED_BY_REACH", "ONE_CONTENT", MORE_CRASHES),
    ("commit", "LEFTOVERS_REMOVED_AT_ONCE", "KEPT", MORE_CRASHES),
    ("commit", "DOUBLES_REMOVED_LAST", "NO_ALARM", MORE_CRASHES),
    ("commit", "FEW_FILES", "ENOUGH", MORE_CRASHES),
    ("replication", "SHIP_UNSYNCED", "ORDER", CRASHES_ONLY),
    ("replication", "ACK_BEFORE_DURABLE", "ACCEPTED", CRASHES_ONLY),
    ("replication", "DEVICE_TRUSTS_SENT", "ACCEPTED", CRASHES_ONLY),
    ("replication", "NO_SEQUENCE_CHECK", "ORDER", CRASHES_ONLY),
    ("replication", "NO_OVERLAP_CHECK", "ORDER", CRASHES_ONLY),
    ("replication", "NO_ID_KEY", "ONCE", BOTH_SET_BACK),
    ("replication", "NUMBER_IS_POSITION", "ACCEPTED", DEVICE_SET_BACK),
    ("replication", "FORK_DROPS", "KEPT", DEVICE_SET_BACK),
    ("replication", "TRIM_ON_ACCEPT", "KEPT", SERVER_SET_BACK),
    ("replication", "OLD_GENERATION_BELIEVED", "ACCEPTED", SERVER_SET_BACK),
    ("replication", "SAME_GENERATION", "PROGRESS", SERVER_PROGRESS),
    ("replication", "NO_REWIND", "PROGRESS", SERVER_PROGRESS),
    ("replication", "NO_RETRY", "PROGRESS", CRASH_PROGRESS),
)
# Properties of a model are the numbered macros that its `must` refers to; PROGRESS is a formula.
PROPERTY = re.compile(r"^#define (\w+) (\d+) +/\*", re.MULTILINE)


class Search:
    """One search by Spin: a model, its macros, and, for a variant, the property that must fail."""

    def __init__(self, model, bounds, variant=None, fails=None, depth=DEPTH, is_large=False):
        self.model, self.bounds, self.variant, self.fails, self.depth, self.is_large = model, bounds, variant, fails, depth, is_large
        self.states = 0
        self.unreached = None
        self.complaints = []

    @property
    def name(self):
        return f"{self.model} {self.variant or 'true'} ({self.bounds})"

    def complain(self, words):
        self.complaints.append(f"{self.name}: {words}")

    def run(self):
        """Returns itself, with states and complaints."""
        folder = tempfile.mkdtemp(prefix="models-")
        try:
            self.search(folder)
        except (OSError, subprocess.SubprocessError) as error:
            self.complain(str(error))
        finally:
            shutil.rmtree(folder)
        return self

    def search(self, folder):
        text = (MODELS / f"{self.model}.pml").read_text(encoding="utf-8")
        pathlib.Path(folder, "model.pml").write_text(text, encoding="utf-8")
        macros = ["-D" + macro for macro in self.bounds.split()]
        progress = "PROGRESS" in self.bounds.split()
        number = None
        if self.variant:
            macros.append("-D" + self.variant)
            if self.fails != "PROGRESS":
                number = dict(PROPERTY.findall(text)).get(self.fails)
                if number is None:
                    return self.complain(f"the model has no property {self.fails}")
            macros.append(f"-DONLY={number or 99}")
        made = subprocess.run(["spin", "-a", *macros, "model.pml"], cwd=folder, capture_output=True, text=True)
        if made.returncode != 0 or "Error" in made.stdout + made.stderr:
            return self.complain(f"Spin refuses it: {(made.stdout + made.stderr).strip()[:400]}")
        # A variant is refuted within moments, so compiling it is what takes time.
        options = ["-O0" if self.variant else "-O1", "-w", "-DVECTORSZ=2048", "-DMEMLIM=" + ("8000" if self.is_large else "3000")]
        options += [] if progress else ["-DSAFETY", "-DNOFAIR"]
        options += ["-DCOLLAPSE"] if self.is_large else []
        subprocess.run([compiler(), *options, "-o", "pan", "pan.c"], cwd=folder, check=True, capture_output=True)
        command = ["./pan", f"-m{self.depth}", "-w" + ("26" if self.is_large else "20" if self.variant else "22")]
        command += ["-a", "-f"] if progress else []
        # A variant may end where nothing goes on; only its property counts.
        command += ["-E"] if self.variant else []
        self.judge(subprocess.run(command, cwd=folder, capture_output=True, text=True).stdout, number)

    def judge(self, output, number):
        if states := re.search(r"^ *([\d.e+]+) states, stored", output, re.MULTILINE):
            self.states = int(float(states[1]))
        errors = re.search(r"errors: (\d+)", output)
        if not errors or not self.states:
            return self.complain(f"the search did not end: {output.strip()[-400:]}")
        limits = re.findall(r"error: max search depth too small|Search not completed|out of memory|hash table overflow", output)
        trouble = re.findall(r"^pan:\d+: .*", output, re.MULTILINE)
        if not self.variant:
            for words in limits + trouble:
                self.complain(words)
            if errors[1] != "0" and not trouble:
                self.complain(f"{errors[1]} errors")
            self.unreached = set(re.findall(r"^\t\S*?:(\d+), state \d+, \"(?!-end-)(.*)\"", output, re.MULTILINE))
        elif not trouble:
            self.complain(f"nothing is wrong with it, but {self.fails} should fail")
        elif self.fails == "PROGRESS" and "acceptance cycle" not in trouble[0] or number and f"(({number}!=0)&&({number}!={number}))" not in trouble[0]:
            self.complain(f"{self.fails} should fail, but it fails otherwise: {trouble[0]}")


def compiler():
    return shutil.which("gcc") or shutil.which("cc")


def run_all(searches):
    """Longest first, on all cores."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(Search.run, searches))


def judge_models(true, variants):
    """What is wrong with a set of models as a whole: statements that no true run reaches, properties that nothing refutes, variants without a
    paragraph."""
    for model in sorted({search.model for search in true}):
        runs = [search.unreached for search in true if search.model == model and "PROGRESS" not in search.bounds and search.unreached is not None]
        for line, statement in sorted(set.intersection(*runs) if runs else ()):
            yield f"{model}.pml:{line}: no run reaches `{statement}`"
    for model in sorted({search.model for search in variants}):
        refuted = {search.fails for search in variants if search.model == model}
        text = (MODELS / f"{model}.pml").read_text(encoding="utf-8")
        for name, number in PROPERTY.findall(text):
            if f"must({name}," in text and name not in refuted:
                yield f"{model}: no variant refutes {name}, so it may say nothing"
    readme = (MODELS / "README.md").read_text(encoding="utf-8")
    for search in variants:
        if f"**{search.variant}**" not in readme:
            yield f"Specs/models/README.md has no paragraph on {search.variant}"


def selftest():
    """Searches that must be complained about, with a word of the complaint."""
    small = "EVENTS=1 CRASHES=1 FAULTS=1"
    wrong = (
        (Search("commit", small, "CHANGES_NOTHING", "KEPT"), "nothing is wrong"),
        (Search("commit", small, "NO_SYNC", "ONCE"), "nothing is wrong"),
        (Search("commit", small, "NO_SYNC", "NO_SUCH_PROPERTY"), "no property"),
        (Search("commit", small + " NO_SYNC"), "assertion violated"),
        (Search("commit", small, depth=100), "depth too small"),
        (Search("commit", "EVENTS=two"), "Spin refuses it"),
        (Search("replication", CRASH_PROGRESS, "CHANGES_NOTHING", "PROGRESS"), "nothing is wrong"),
        (Search("replication", CRASH_PROGRESS + " NO_RETRY"), "acceptance cycle"),
        (Search("replication", CRASHES_ONLY + " DEVICE_TRUSTS_SENT", "NO_SYNC", "PROGRESS"), "nothing is wrong"),
    )
    run_all([search for search, _ in wrong])
    missed = [f"not complained about: {search.name}: {words}; {search.complaints}" for search, words in wrong if words not in str(search.complaints)]
    few = [Search("replication", SERVER_SET_BACK).run()]
    if not any("no run reaches" in words for words in judge_models(few, [])):
        missed.append("statements that are not reached are not complained about")
    if not any("no variant refutes" in words for words in judge_models([], [Search("commit", small, "NO_SYNC", "KEPT")])):
        missed.append("a property without a variant is not complained about")
    for line in missed:
        print(line)
    print(f"models selftest: {len(wrong) + 2} that must not pass, {len(missed)} passed")
    return 1 if missed else 0


def main():
    if not set(sys.argv[1:]) <= {"--large", "--table", "--selftest"}:
        sys.exit("usage: models.py [--large] [--table] [--selftest]")
    for tool, is_there in (("spin", shutil.which("spin")), ("C compiler", compiler())):
        if not is_there:
            print(f"layer=models skipped=no {tool}")
            return 0
    if "--selftest" in sys.argv:
        return selftest()
    is_large = "--large" in sys.argv
    start = time.monotonic()
    true = [Search(model, bounds, is_large=is_large) for model, bounds in (LARGE_MODELS if is_large else TRUE_MODELS)]
    variants = [Search(model, bounds, variant, fails) for model, variant, fails, bounds in VARIANTS]
    run_all(true + variants)
    violations = [words for search in true for words in search.complaints]
    passed = [words for search in variants for words in search.complaints]
    # Larger bounds alone need not reach everything.
    violations += judge_models([] if is_large else true, variants)
    refuted = sum(not search.complaints for search in variants)
    if "--table" in sys.argv:
        for search in true + variants:
            print(f"| `{search.model}` | {search.variant or 'true'} | {search.fails or ''} | {search.bounds} | {search.states} |")
    print(f"layer=models states={sum(search.states for search in true)} violations={len(violations)} refuted={refuted}/{len(variants)} "
          f"seconds={time.monotonic() - start:.0f}")
    for words in violations + passed:
        print("  " + words)
    return 1 if violations or passed else 0


if __name__ == "__main__":
    sys.exit(main())
