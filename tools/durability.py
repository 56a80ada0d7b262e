"""Puts the results of a crash test into a document, as a table between two marks.

    python3 tools/durability.py REPORT.json DOCUMENT.md

Called by tools/durability. The report is what `tidemark crashtest --json` wrote; a partial one is refused.
"""

import json
import pathlib
import sys

BEGIN = "<!-- made by tools/durability -->"
END = "<!-- end -->"
FAULTS = {
    "kill-random": "kill -9", "kill-call": "kill -9 at each call", "power-ext4": "power cut, ext4", "power-xfs": "power cut, XFS", "replay": "reordered, torn",
    "sync": "sync failure", "full": "full disk",
}
CLAIMS = {"power": "power cut", "process": "process crash", "none": "nothing"}


def outcome(result):
    """What one engine lost under one fault, in a few words."""
    if result is None or result["injections"] == 0:
        return "not tested"
    if not result["control"] and not result["control_lost"]:
        return "no verdict"
    wrong = sum(result[name] for name in ("phantoms", "damaged", "duplicates", "gaps", "disordered", "torn_batches"))
    parts = []
    if result["lost"]:
        parts.append(f"**{result['lost']:,} lost** in {result['injections_with_loss']:,} of {result['injections']:,}")
    if result["unopenable"]:
        parts.append(f"**{result['unopenable']:,} not opened**")
    if wrong:
        parts.append(f"**{wrong:,} wrong**")
    if not parts:
        return f"0 in {result['injections']:,}"
    text = ", ".join(parts)
    # Of what it does not claim, a loss is no fault of its own.
    return text if result["claimed"] or result["control"] else text.replace("**", "")


def environment(facts):
    """What matters of the machine."""
    words = [facts["system"].split("-")[0], facts["processor"], "virtual" if facts.get("virtual") == "yes" else "", facts["file_system"]]
    if facts.get("write_cache"):
        words.append(f"write cache: {facts['write_cache']}")
    return ", ".join(word for word in words if word)


def table(report):
    results = {(result["engine"], result["fault"]): result for result in report["results"] if not result["control"]}
    controls = {result["fault"]: result for result in report["results"] if result["control"]}
    faults = [fault for fault in FAULTS if fault in controls]
    lines = [
        f"| engine | claims to survive | a second | p99 | {' | '.join(FAULTS[fault] for fault in faults)} |",
        "|---|---|---:|---:|" + "---|" * len(faults),
    ]
    for engine in report["engines"]:
        name = engine["name"]
        cells = [outcome(results.get((name, fault))) for fault in faults]
        price = f"{engine['acknowledgements_per_second']:,.0f} | {engine['latency_p99_us'] / 1000:.2f} ms" if "latency_p99_us" in engine else "- | -"
        lines.append(f"| {name} | {CLAIMS.get(engine['claims'], engine['claims'])} | {price} | {' | '.join(cells)} |")
    lines.append(f"| control: wrong on purpose | | | | {' | '.join(outcome(controls[fault]) for fault in faults)} |")
    facts = environment(report["environment"])
    versions = ", ".join(sorted({engine["library"] for engine in report["engines"] if engine.get("library")}))
    skipped = "".join(f" Left out: {item['fault']}, because {item['why']}." for item in report["skipped"])
    note = (f"Acknowledged events that were gone, in so many injections. {facts}; {versions}. One event of 200 bytes an acknowledgement. A full disk: "
            f"stores were opened while nothing was free, too. Without a claim to survive a fault, losing events under it is as promised. The drive's own cache was not tested.{skipped}")
    return [*lines, "", note]


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    report = json.loads(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"))
    if report["partial"]:
        sys.exit(f"{sys.argv[1]}: the run was stopped before its end")
    document = pathlib.Path(sys.argv[2])
    text = document.read_text(encoding="utf-8")
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        sys.exit(f"{document}: it has no place for the table, from `{BEGIN}` to `{END}`")
    lines = table(report)
    document.write_text(before + begin + "\n" + "\n".join(lines) + "\n" + end + after, encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
