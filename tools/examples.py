"""Prints the Swift examples of documents as one source file, so that the compiler can check them. See tools/docs.

    python3 tools/examples.py README.md ...

A block that imports TidemarkLog is a whole program; any other is a part of one and may use the names in GIVEN. A block whose first line is a
comment that names a file (`// Package.swift`) is left out.
"""

import pathlib
import re
import sys

GIVEN = "log: Log, event: NewEvent, events: [NewEvent], signature: NewEvent, batch: [NewEvent], size: Offset, next: Offset, offset: Offset"


def blocks(text):
    """Yields (line of the first line of code, code)."""
    for match in re.finditer(r"^```swift\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        yield text.count("\n", 0, match.start(1)) + 1, match[1]


def main(paths):
    print("import TidemarkLog\nimport TidemarkEvidence\nimport TidemarkProjections\nimport TidemarkReplication\nimport TidemarkSQLite")
    count = 0
    for path in paths:
        for line, code in blocks(pathlib.Path(path).read_text(encoding="utf-8")):
            if re.match(r"// \S+\.\w+\n", code):
                continue
            count += 1
            whole = "import TidemarkLog\n" in code
            print(f"func example{count}({'' if whole else GIVEN}) {'async ' if 'await' in code else ''}throws {{")
            print(f'#sourceLocation(file: "{path}", line: {line})')
            print(re.sub(r"^import Tidemark\w+$", "", code, flags=re.MULTILINE), end="")
            print("#sourceLocation()")
            print("}")
    if count == 0:
        sys.exit("no example found")


if __name__ == "__main__":
    main(sys.argv[1:])
