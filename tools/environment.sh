# Sourced by the other scripts: sets ROOT, puts the Swift toolchain first in PATH, and sets PYTHON. Changes nothing else.
# shellcheck shell=bash

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
export ROOT

# Prints the bin directory of a Swift toolchain: that of the `swift` in PATH, else the first of the usual places.
find_swift() {
  local command directory
  if command=$(command -v swift); then
    directory=$(dirname "$(readlink -f "$command")")
    # A launcher (swiftly, swiftenv) has no compiler beside it and finds the toolchain by itself.
    if [ ! -x "$directory/swift-frontend" ]; then directory=$(dirname "$command"); fi
    printf '%s\n' "$directory"
    return
  fi
  for directory in /opt/swift*/usr/bin /usr/local/swift*/usr/bin /usr/share/swift*/usr/bin /usr/libexec/swift*/bin /usr/lib/swift*/bin \
    "${HOME:-/nowhere}"/.local/share/swiftly/toolchains/*/usr/bin "${HOME:-/nowhere}"/swift*/usr/bin; do
    if [ -x "$directory/swift" ]; then
      printf '%s\n' "$directory"
      return
    fi
  done
  return 1
}

# The toolchain's own clang has to be found before any other.
if TIDEMARK_SWIFT=$(find_swift); then
  case $PATH: in
    "$TIDEMARK_SWIFT":*) ;;
    *) export PATH="$TIDEMARK_SWIFT:$PATH" ;;
  esac
fi
export TIDEMARK_SWIFT

# Prints a Python that can import the modules named.
find_python() {
  local candidate
  for candidate in /usr/bin/python3 python3 "$ROOT/.build/venv/bin/python3"; do
    if "$candidate" -c "import $1" >/dev/null 2>&1; then
      command -v "$candidate"
      return
    fi
  done
  return 1
}

# Prints a line on standard error and gives up.
fail() {
  printf '%s\n' "$1" >&2
  exit 1
}

# Tests and tools report a crash at once; a backtrace helper would hold their pipes open.
export SWIFT_BACKTRACE=enable=no
