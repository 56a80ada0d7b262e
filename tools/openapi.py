"""Keeps Specs/openapi.yaml and the JSON that the server gives as /openapi.json in agreement.

    python3 tools/openapi.py            say whether they agree, and whether the document names what Specs/protocol.md does; exit code 1 if not
    python3 tools/openapi.py --write    make the JSON anew

Needs PyYAML.
"""

import json
import pathlib
import re
import sys

import yaml

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCE = ROOT / "Specs/openapi.yaml"
TARGET = ROOT / "Sources/TidemarkServer/HTTP/openapi.json"
PROBLEMS = ROOT / "Sources/TidemarkProtocol/Messages/Problem.swift"
METHODS = ("get", "put", "post", "patch", "delete", "head", "options")


def compact(document):
    return json.dumps(document, ensure_ascii=True, separators=(",", ":")).encode() + b"\n"


def references(value):
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for member in value.values():
            yield from references(member)
    elif isinstance(value, list):
        for member in value:
            yield from references(member)


def findings(document):
    if not TARGET.exists() or TARGET.read_bytes() != compact(document):
        yield f"{TARGET.relative_to(ROOT)} is not what {SOURCE.relative_to(ROOT)} says: run tools/openapi.py --write"
    for reference in references(document):
        place = document
        for name in reference.removeprefix("#/").split("/"):
            place = place.get(name, {}) if isinstance(place, dict) else {}
        if not place:
            yield f"{reference} leads nowhere"
    # Both name the same statuses of problems.
    text = PROBLEMS.read_text()
    statuses = {int(number) for number in re.findall(r"case \.\w+`?: \((\d{3}),", text)} - {405, 406, 408, 500}
    named = {int(status) for path in document["paths"].values() for method, operation in path.items() if method in METHODS
             for status in operation["responses"] if int(status) >= 400}
    for status in sorted(statuses ^ named):
        yield f"status {status} is in one of Problem.swift and the document only"
    specification = (ROOT / "Specs/protocol.md").read_text()
    for path in document["paths"]:
        known = path in specification or path.startswith("/v1/admin/") or path.startswith("/v1/logs/")
        if not known and path.replace("{upload}", "{id}") not in specification:
            yield f"{path} is not in Specs/protocol.md"


def main():
    document = yaml.safe_load(SOURCE.read_text())
    if sys.argv[1:] == ["--write"]:
        TARGET.write_bytes(compact(document))
    elif sys.argv[1:]:
        sys.exit(__doc__)
    wrong = list(findings(document))
    for line in wrong:
        print(line)
    count = sum(method in METHODS for path in document["paths"].values() for method in path)
    print(f"openapi: {count} calls, {len(wrong)} findings")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
