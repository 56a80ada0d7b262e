"""Prints what part of the code of decoder and recovery a run of the fuzzers' inputs reached, from what `llvm-cov export` says.

    python3 tools/fuzz_coverage.py EXPORT.json [MISSING.txt]

Called by `tools/fuzz --coverage`. The second file gets each region that was not reached. Mistakes that this build does not contain are not counted: a
region on a line with `seeded(` or `planted(`.
"""

import collections
import json
import sys

# Decoders stand beside their encoders; these files only encode, or read the command line's files.
LEFT_OUT = ("Format/FrameBuffer.swift", "Format/Record+Encode.swift", "Import/Importer.swift")
GROUPS = (
    ("decoder", ("Format/", "Segment/FrameReader.swift", "Event/EventView.swift", "Event/EventExtension+Coding.swift", "Event/Session.swift")),
    ("recovery", ("Recovery/", "Segment/SegmentScan.swift", "Segment/SegmentSummary.swift", "Segment/SealedCheck.swift", "Log/LogCore+Recover.swift")),
    ("index", ("Index/", "Segment/IndexBuilder.swift")),
    ("text", ("JSON/", "CSV/", "Time/", "Input/", "Bytes/", "Import/")),
)
MARKS = ("/TidemarkLog/", "/TidemarkText/", "/TidemarkTool/")
CODE = 0


def place(path):
    """The path below its module, or None for other files."""
    for mark in MARKS:
        if mark in path:
            return path.split(mark)[-1]
    return None


def regions(export):
    """How often each region of each file was reached: {path: {(line, column, end line, end column): count}}."""
    found = collections.defaultdict(collections.Counter)
    for function in export["data"][0]["functions"]:
        for line, column, end_line, end_column, count, file, _, kind in function["regions"]:
            if kind == CODE:
                # A generic function has its regions once for each form that it was compiled in.
                found[function["filenames"][file]][line, column, end_line, end_column] += count
    return found


def main(path, missing=None):
    with open(path, encoding="utf-8") as stream:
        found = regions(json.load(stream))
    unreached = []
    for group, prefixes in GROUPS:
        total = covered = 0
        for file in sorted(found):
            name = place(file)
            if name is None or not name.startswith(prefixes) or name in LEFT_OUT:
                continue
            with open(file, encoding="utf-8") as source:
                lines = source.read().split("\n")
            counted = {at: count for at, count in found[file].items() if not any(mark in lines[at[0] - 1] for mark in ("seeded(", "planted("))}
            reached = sum(count > 0 for count in counted.values())
            unreached += [f"{name}:{at[0]}:{at[1]} {lines[at[0] - 1].strip()}" for at, count in sorted(counted.items()) if count == 0]
            total += len(counted)
            covered += reached
            print("%-8s %-40s %5d of %5d regions %6.1f %%" % (group, name, reached, len(counted), 100 * reached / max(1, len(counted))))
        if total:
            print("layer=fuzz-coverage group=%s coverage_regions=%d regions=%d percent=%.1f" % (group, covered, total, 100 * covered / total))
    if missing:
        with open(missing, "w", encoding="utf-8") as stream:
            stream.writelines(f"{line}\n" for line in unreached)


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    main(*sys.argv[1:])
