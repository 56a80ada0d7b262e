"""Style as a test: what a formatter does not see. Prints one line per finding and exits with 1 if there is any.

    python3 tools/tidy.py              look at the whole project
    python3 tools/tidy.py --selftest   feed every rule an offence, and fail if one is not found

A rule that turns out wrong is changed here, with the reason in the commit. The lists below are meant to be edited.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SKIPPED_FOLDERS = {".build", "Corpus", ".git", ".swiftpm", "scratch", "__pycache__", "results"}
LIBRARIES = (
    "Sources/TidemarkLog/",
    "Sources/TidemarkProjections/",
    "Sources/TidemarkSQLite/",
    "Sources/TidemarkEvidence/",
    "Sources/TidemarkText/",
    "Sources/TidemarkProtocol/",
    "Sources/TidemarkReplication/",
    "Sources/TidemarkServer/",
    "Sources/TidemarkCrash/",
)

MAXIMUM_LINE = 140
MAXIMUM_FILE = 500

# Files that may contain unsafe code; everything else sees spans. A name that ends in a slash allows the folder.
UNSAFE_ALLOWED = (
    "Sources/TidemarkLog/Storage/",
    "Sources/TidemarkLog/Commit/",
    "Sources/TidemarkCrash/Platform/",
    "Sources/TidemarkSQLite/Database/",
    "Sources/TidemarkEvidence/Crypto/",
    "Sources/TidemarkReplication/Host/CurlTransport.swift",
    "Sources/TidemarkServer/HTTP/Library/",
    "Sources/TidemarkLog/Format/Bytes.swift",
    "Sources/TidemarkLog/Format/FrameBuffer.swift",
    "Sources/TidemarkLog/Format/IDPages.swift",
    "Sources/TidemarkLog/Format/Record+Encode.swift",
    "Sources/TidemarkText/Bytes/Span+Bytes.swift",
    "Sources/TidemarkTool/Console/System.swift",
    "Sources/TidemarkLog/Format/Compression.swift",
    "Sources/TidemarkLog/Format/Hash.swift",
    "Sources/TidemarkLog/Event/EventID.swift",
    "Sources/TidemarkLog/Event/EventView.swift",
)

# The one file of a target that knows platforms apart.
PLATFORM_FILES = ("Sources/TidemarkLog/Storage/Libc.swift", "Sources/TidemarkTool/Console/System.swift")

# Who may import what is not Swift's own.
IMPORT_ALLOWED = {
    "CLZ4": ("Sources/TidemarkLog/Format/Compression.swift",),
    "CXXHash": ("Sources/TidemarkLog/Format/Hash.swift",),
    "CSQLite": ("Sources/TidemarkSQLite/Database/",),
    "CCrypto": ("Sources/TidemarkEvidence/Crypto/",),
    "CSodium": ("Sources/TidemarkEvidence/Crypto/",),
    "CCurl": ("Sources/TidemarkReplication/Host/CurlTransport.swift",),
    "CMicrohttpd": ("Sources/TidemarkServer/HTTP/Library/",),
    "CCrash": ("Sources/TidemarkCrash/Platform/", "Sources/TidemarkCrash/Subjects/PlainStore.swift"),
    "CPlatform": ("Sources/TidemarkLog/Storage/", "Sources/TidemarkLog/Format/Bytes.swift"),
    "Glibc": PLATFORM_FILES,
    "Musl": PLATFORM_FILES,
    "Darwin": PLATFORM_FILES,
}

# Matched against code without comments and the contents of strings: pattern, where, what to do instead.
BANNED = (
    (r"\bfatalError\s*\(", "Sources/", "throw a LogError; `precondition` for our own invariants"),
    (r"\btry!", "", "`try`, and let the error through"),
    (r"\bas!", "", "`as?` and an error"),
    (r"(?<![\s(\[{,:!&|=<>+*/-])!(?![=!])", "Sources/", "no forced unwrapping: `guard let` and an error"),
    (r"\b(print|debugPrint|dump)\s*\(", LIBRARIES, "return it: a library writes nothing to standard output"),
    (r"\bimport Foundation\b", LIBRARIES, "no Foundation in a library: it doubles an idle agent's memory"),
    (r"\bDate\(\)|\bclock_gettime\b.*\bCLOCK_REALTIME\b", "Sources/TidemarkLog/(?!Storage/)", "the environment's clock"),
    (r"\b(SystemRandomNumberGenerator|\.random\(in)", "Sources/TidemarkLog/(?!Storage/)", "the environment's random source"),
)

# Written in two halves, so that this file does not offend.
LEFTOVERS = re.compile("|".join((r"\bTO" r"DO\b", r"\bFIX" r"ME\b", r"\bXX" r"X\b", r"\bHA" r"CK\b", "not " "implemented", "un" "implemented", "place" "holder")))
MACHINE_PATH = re.compile(r"(?<![\w.~*$}])/(?:home|root|tmp|work|mnt|Users|private)/[\w.]")


def starts(path, prefixes):
    return any(path.startswith(prefix) if prefix.endswith("/") else path == prefix for prefix in prefixes)


def applies(path, where):
    return starts(path, where) if isinstance(where, tuple) else re.match(where, path)


def code_only(text):
    """Swift code with comments and the contents of strings blanked out; the line numbers stay. Code inside `\\(...)` stays code."""
    out, stack, index = [], [], 0  # stack: ("string", closing quote, hashes) or ("code", open parentheses)
    while index < len(text):
        character = text[index]
        if stack and stack[-1][0] == "string":
            _, quote, hashes = stack[-1]
            if text.startswith(quote + hashes, index):
                out.append('"')
                index += len(quote + hashes)
                stack.pop()
            elif text.startswith("\\" + hashes + "(", index):
                out.append("(")
                index += len(hashes) + 2
                stack.append(["code", 1])
            elif text.startswith("\\" + hashes, index):
                index += len(hashes) + 2
            else:
                out.append("\n" if character == "\n" else "")
                index += 1
            continue
        if text.startswith("//", index):
            end = text.find("\n", index)
            index = len(text) if end < 0 else end
            continue
        if text.startswith("/*", index):
            end = text.find("*/", index)
            end = len(text) if end < 0 else end + 2
            out.append("\n" * text.count("\n", index, end))
            index = end
            continue
        opening = re.compile(r'(#*)("""|")').match(text, index)
        if opening:
            out.append('"')
            stack.append(("string", opening[2], opening[1]))
            index = opening.end()
            continue
        if stack:
            stack[-1][1] += {"(": 1, ")": -1}.get(character, 0)
            if stack[-1][1] == 0:
                stack.pop()
        out.append(character)
        index += 1
    return "".join(out)


def check_swift(path, text):
    lines = text.split("\n")
    if len(lines) - 1 > MAXIMUM_FILE:
        yield MAXIMUM_FILE + 1, f"a file of {len(lines) - 1} lines: find the seam; {MAXIMUM_FILE} is the most"
    for number, line in enumerate(lines, 1):
        if len(line) > MAXIMUM_LINE:
            yield number, f"a line of {len(line)} columns; {MAXIMUM_LINE} is the most"
        if re.search(r"@unchecked\s+Sendable|nonisolated\(unsafe\)", line.split("//")[0]):
            if number == 1 or not lines[number - 2].strip().startswith("//"):
                yield number, "the reason for `@unchecked` or `nonisolated(unsafe)` belongs on the line above"
    unsafe_reported = starts(path, UNSAFE_ALLOWED) or not path.startswith("Sources/")
    for number, line in enumerate(code_only(text).split("\n"), 1):
        for pattern, where, instead in BANNED:
            if applies(path, where) and re.search(pattern, line):
                yield number, f"`{re.search(pattern, line)[0].strip()}`: {instead}"
        if path.startswith("Sources/"):
            if not unsafe_reported and re.search(r"(?<!\()\bunsafe\b(?!\))|@unsafe\b", line):
                unsafe_reported = True
                yield number, "unsafe code outside the files that tools/tidy.py allows it in"
            module = re.match(r"\s*(?:@\w+ +)*(?:\w+ +)?import +(\w+)", line)
            if module and module[1] in IMPORT_ALLOWED and not starts(path, IMPORT_ALLOWED[module[1]]):
                yield number, f"import of {module[1]}: only {', '.join(IMPORT_ALLOWED[module[1]])} may"
            if re.search(r"#(?:else)?if\b.*\b(canImport|os|arch)\(", line) and path not in PLATFORM_FILES:
                yield number, f"differences between platforms belong in {' or '.join(PLATFORM_FILES)}"


def check_markdown(path, text):
    headings, fenced = [], False
    for number, line in enumerate(text.split("\n"), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced:
            if line.startswith("# "):
                headings.append(number)
            for target in re.findall(r"(?<!`)\[[^\]]*\]\(([^)\s]+)\)", line):
                file = target.split("#")[0]
                if file and not re.match(r"\w+:|<doc:", target) and not (ROOT / path).parent.joinpath(file).exists():
                    yield number, f"the link to {file} leads nowhere"
    if len(headings) != 1:
        yield (headings[1] if headings else 1), f"{len(headings)} titles; a document has one line that starts with `# `"
    if fenced:
        yield text.count("\n"), "a code block is not closed"


def check_shell(path, text):
    if not re.search(r"^set -euo pipefail$", text, re.MULTILINE):
        yield 1, "a script starts with `set -euo pipefail`"


def check_text(path, text):
    if path == "LICENSE":
        return
    for number, line in enumerate(text.split("\n"), 1):
        if line != line.rstrip():
            yield number, "space at the end of the line"
        if "\t" in line and not path.endswith(".go"):  # Go's own formatter indents with tabs
            yield number, "a tab; indent with two spaces (four in Python)"
        if match := LEFTOVERS.search(line):
            yield number, f"`{match[0]}`: finish it, or write an issue"
        if match := MACHINE_PATH.search(line):
            yield number, f"`{match[0]}...`: a path of one machine"
    if text and not text.endswith("\n"):
        yield text.count("\n") + 1, "no line break at the end"
    if text.endswith("\n\n"):
        yield text.count("\n"), "an empty line at the end"


def check(path, text):
    yield from check_text(path, text)
    if path.endswith(".swift"):
        yield from check_swift(path, text)
    elif path.endswith(".md"):
        yield from check_markdown(path, text)
    elif text.startswith("#!") and "bash" in text.split("\n")[0]:
        yield from check_shell(path, text)


def project_files():
    for file in sorted(ROOT.rglob("*")):
        path = file.relative_to(ROOT)
        if not file.is_file() or SKIPPED_FOLDERS.intersection(path.parts):
            continue
        try:
            yield path.as_posix(), file.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue  # logs in Specs/vectors and other data


# An offence for every rule (path, text, words of the finding) ...
OFFENCES = (
    ("Sources/TidemarkLog/A.swift", "x" * 141 + "\n", "columns"),
    ("Sources/TidemarkLog/A.swift", "\n" * 501 + "let a = 1\n", "lines"),
    ("Sources/TidemarkLog/A.swift", "fatalError()\n", "throw a LogError"),
    ("Tests/LogTests/A.swift", "let a = try! b()\n", "try!"),
    ("Tests/LogTests/A.swift", "let a = b as! C\n", "as!"),
    ("Sources/TidemarkLog/A.swift", "let a = list.first!.name\n", "unwrapping"),
    ("Sources/TidemarkLog/A.swift", "let a = table[key]!\n", "unwrapping"),
    ("Sources/TidemarkLog/A.swift", "var a: Int!\n", "unwrapping"),
    ("Sources/TidemarkLog/A.swift", 'let a = "\\(list.first!)"\n', "unwrapping"),
    ("Sources/TidemarkLog/A.swift", "print(1)\n", "standard output"),
    ("Sources/TidemarkLog/A.swift", "internal import Foundation\n", "no Foundation"),
    ("Sources/TidemarkLog/A.swift", "let a = Int.random(in: 0..<2)\n", "random source"),
    ("Sources/TidemarkLog/A.swift", "let a = unsafe b[0]\n", "unsafe code"),
    ("Sources/TidemarkLog/A.swift", "final class A: @unchecked Sendable {}\n", "the line above"),
    ("Sources/TidemarkLog/A.swift", "internal import CLZ4\n", "import of CLZ4"),
    ("Sources/TidemarkLog/A.swift", "import Glibc\n", "import of Glibc"),
    ("Sources/TidemarkTool/A.swift", "#if os(Linux)\n#endif\n", "platforms"),
    ("Sources/TidemarkTool/A.swift", "#if canImport(Darwin)\n#endif\n", "platforms"),
    ("Specs/a.md", "# A\n\n# B\n", "titles"),
    ("Specs/a.md", "no title\n", "titles"),
    ("Specs/a.md", "# A\n\n[b](no-such-file.md)\n", "leads nowhere"),
    ("Specs/a.md", "# A\n\n```\n", "not closed"),
    ("Specs/a.md", "# A \n", "end of the line"),
    ("Specs/a.md", "# A\n\n\n", "empty line"),
    ("Specs/a.md", "# A", "no line break"),
    ("Specs/a.md", "# A\n\tb\n", "tab"),
    ("Specs/a.md", "# A\n\nTO" + "DO: b\n", "finish it"),
    ("Specs/a.md", "# A\n\nsee /ho" + "me/me/log\n", "one machine"),
    ("tools/a", "#!/usr/bin/env bash\necho\n", "pipefail"),
)
# ... and code that must pass.
INNOCENT = (
    ("Sources/TidemarkLog/A.swift", 'let a = !b && c != d || !(e) ? [!f] : "no! \\(g("x")) try!" // print(1), unsafe\n'),
    ("Sources/TidemarkLog/A.swift", 'let a = #"a "quoted" word!"#\nlet b = """\n  fatalError()\n  """\n/* as! */\n'),
    ("Sources/TidemarkLog/Storage/A.swift", "// The lock guards it.\nfinal class A: @unchecked Sendable {}\nlet a = unsafe b[0]\n"),
    ("Sources/TidemarkTool/A.swift", "import Foundation\nprint(1)\n"),
    ("Specs/a.md", "# A\n\n```\n# a comment\n[x](y)\n```\n"),
)


def selftest():
    wrong = [f"not found: {words} in {text!r}" for path, text, words in OFFENCES if not any(words in message for _, message in check(path, text))]
    wrong += [f"found in innocent code: {finding}" for path, text in INNOCENT for finding in check(path, text)]
    for line in wrong:
        print(line)
    print(f"tidy selftest: {len(OFFENCES)} offences, {len(INNOCENT)} innocent texts, {len(wrong)} wrong")
    return 1 if wrong else 0


def main():
    if sys.argv[1:] == ["--selftest"]:
        return selftest()
    if sys.argv[1:]:
        sys.exit("usage: tidy.py [--selftest]")
    files, findings = 0, 0
    for path, text in project_files():
        files += 1
        for number, message in check(path, text):
            findings += 1
            print(f"{path}:{number}: {message}")
    print(f"tidy: {files} files, {findings} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
