"""Fails if a public symbol has no documentation comment, or a public type is in no topic. See tools/docs.

    python3 tools/documented.py MODULE.symbols.json documentation-coverage.json
"""

import json
import pathlib
import sys

TYPES = {"swift.class", "swift.struct", "swift.enum", "swift.protocol", "swift.actor", "swift.typealias", "swift.func"}


def undocumented(graph):
    """Public symbols without a comment of their own; what a protocol of another module asks for (`<`, `description`) is documented there."""
    elsewhere = {relation["source"] for relation in graph["relationships"] if "sourceOrigin" in relation}
    for symbol in graph["symbols"]:
        if "docComment" not in symbol and symbol["identifier"]["precise"] not in elsewhere:
            yield symbol


def place(symbol):
    if "location" not in symbol:
        return "?"
    file = pathlib.Path(symbol["location"]["uri"].removeprefix("file://"))
    if file.is_relative_to(pathlib.Path.cwd()):
        file = file.relative_to(pathlib.Path.cwd())
    return f"{file}:{symbol['location']['position']['line'] + 1}"


def main(graph_path, coverage_path):
    graph = json.loads(pathlib.Path(graph_path).read_text())
    coverage = json.loads(pathlib.Path(coverage_path).read_text())
    curated = {entry["title"] for entry in coverage if entry["isCurated"]}
    findings = [f"{place(symbol)}: {'.'.join(symbol['pathComponents'])} has no documentation comment" for symbol in undocumented(graph)]
    findings += [
        f"{place(symbol)}: {symbol['names']['title']} is in no topic of {graph['module']['name']}.md"
        for symbol in graph["symbols"]
        if symbol["kind"]["identifier"] in TYPES and len(symbol["pathComponents"]) == 1 and symbol["names"]["title"] not in curated
    ]
    for line in sorted(findings):
        print(line)
    print(f"documentation: {graph['module']['name']}: {len(graph['symbols'])} public symbols, {len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: documented.py SYMBOLS.json COVERAGE.json")
    sys.exit(main(sys.argv[1], sys.argv[2]))
