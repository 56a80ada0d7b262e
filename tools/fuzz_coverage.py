"""Prints what part of the code of decoder and recovery a run of the fuzzers' inputs reached, from a summary of llvm-cov.

    python3 tools/fuzz_coverage.py SUMMARY.json

Called by `tools/fuzz --coverage`.
"""

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


def place(path):
    """The path below its module, or None for other files."""
    for mark in MARKS:
        if mark in path:
            return path.split(mark)[-1]
    return None


def main(path):
    with open(path, encoding="utf-8") as stream:
        files = json.load(stream)["data"][0]["files"]
    for group, prefixes in GROUPS:
        total = covered = 0
        for file in sorted(files, key=lambda file: file["filename"]):
            name = place(file["filename"])
            if name is None or not name.startswith(prefixes) or name in LEFT_OUT:
                continue
            regions = file["summary"]["regions"]
            total += regions["count"]
            covered += regions["covered"]
            print("%-8s %-40s %5d of %5d regions %6.1f %%" % (group, name, regions["covered"], regions["count"], regions["percent"]))
        if total:
            print("layer=fuzz-coverage group=%s coverage_regions=%d regions=%d percent=%.1f" % (group, covered, total, 100 * covered / total))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: fuzz_coverage.py SUMMARY.json")
    main(sys.argv[1])
