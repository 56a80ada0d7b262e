"""Checks the definitions in Specs/definitions with the schema in Specs, by a validator that knows nothing of this project (jsonschema), and that schema
and tool agree on what a definition may hold.

    python3 tools/definitions.py TIDEMARK

Each definition is changed in many ways: members left out, added from others, given other values. The schema and `tidemark project` must both
take or both refuse each. What the schema can't say is left out: whether a time zone exists, and members that are there twice.
"""

import copy
import json
import pathlib
import subprocess
import sys
import tempfile

import jsonschema

ROOT = pathlib.Path(__file__).resolve().parent.parent
SPECS = ROOT / "Specs"
# Values of every kind, fitting and not.
POOL = {
    "name": ["a", "A", "a" * 65, "", ".a", 1],
    "types": [[], ["a"], [1], "a", None],
    "key": [["/a"], ["@subject", "/b/0"], [], ["a"], ["/a~2"], "/a", [1], ["/k"] * 61, ["/k"] * 62],
    "value": ["/v", "", "@actor", "v", 1, None],
    "fold": ["count", "sum", "average", "minimum", "maximum", "latest", "presence", "acknowledgements", "product", 1],
    "time": ["/t", "t", 1],
    "window": [
        {"unit": "day", "zone": "UTC"}, {"unit": "hour", "zone": "@offset"}, {"unit": "hour", "zone": "@offset", "time": "/t"},
        {"unit": "week", "zone": "UTC"}, {"zone": "UTC"}, {"unit": "day"}, {"unit": "day", "zone": "../UTC"}, {"unit": "day", "zone": "UTC", "x": 1}, 1,
    ],
    "absent": ["skip", "unreadable", "maybe", True],
    "digits": [0, 100, 101, -1, "1", 1.5],
    "roles": [{"a": "enter"}, {"a": "acknowledge", "b": "publish"}, {"a": "enter", "b": "ask"}, {}, {"a": "fly"}, {"a": 1}, ["a"]],
    "place": ["/p", "p"],
    "version": ["/v", 1],
    "material": ["/m", True],
    "per": ["person", "place", "gate"],
    "windows": [1],
}


def changes(definition):
    for name in POOL:
        if name in definition:
            left = copy.deepcopy(definition)
            del left[name]
            yield left
        for value in POOL[name]:
            changed = copy.deepcopy(definition)
            changed[name] = value
            yield changed
            if name == "fold":
                for other in ("value", "types", "window", "absent"):
                    less = copy.deepcopy(changed)
                    less.pop(other, None)
                    yield less


def main(tool):
    schema = json.loads((SPECS / "projection.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    tried, taken, disagreed = set(), 0, 0
    with tempfile.TemporaryDirectory(prefix="tidemark-definitions-") as folder:
        log, file = f"{folder}/log", pathlib.Path(folder, "definition.json")
        subprocess.run([tool, "init", log], check=True, capture_output=True)

        def takes(text):
            file.write_text(text, encoding="utf-8")
            done = subprocess.run([tool, "project", log, file], capture_output=True, text=True)
            if done.returncode not in (0, 2):
                sys.exit(f"tidemark project ended with {done.returncode}: {done.stderr}")
            return done.returncode == 0

        shipped = sorted((SPECS / "definitions").glob("*.json"))
        for path in shipped:
            definition = json.loads(path.read_text(encoding="utf-8"))
            validator.validate(definition)
            if definition["name"] != path.stem or not takes(path.read_text(encoding="utf-8")):
                sys.exit(f"{path.name}: the tool refuses it, or it has another name than its file")
            for changed in changes(definition):
                text = json.dumps(changed)
                if text in tried:
                    continue
                tried.add(text)
                by_schema, by_tool = validator.is_valid(changed), takes(text)
                taken += by_tool
                if by_schema != by_tool:
                    disagreed += 1
                    print(f"the schema {'takes' if by_schema else 'refuses'} it, the tool does not agree: {text}")
    print(f"layer=definitions shipped={len(shipped)} changed={len(tried)} taken={taken} disagreed={disagreed}")
    return disagreed != 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1]))
