# Sourced by tools/test and tools/check: the steps that they share. Output of a step is kept in .build/logs and shown if the step fails.
# shellcheck shell=bash

LOGS=$ROOT/.build/logs
mkdir -p "$LOGS"
STEP=
TIMES=()
BUILD=(--explicit-target-dependency-import-check error)
trap '[ $? -eq 0 ] || printf "failed: %s\n" "${STEP:-start}" >&2' EXIT

# step TITLE COMMAND...: runs a command, shows its last line, notes its time.
step() {
  STEP=$1
  shift
  local log=$LOGS/${STEP//[^a-z0-9]/-}.log start=$SECONDS code
  printf '== %s\n' "$STEP"
  # Not in a condition, or errors inside the command would be ignored.
  set +e
  (
    set -e
    "$@"
  ) >"$log" 2>&1 </dev/null
  code=$?
  set -e
  if [ $code -ne 0 ]; then
    show_failure "$log" >&2
    exit $code
  fi
  tail -n 1 "$log"
  TIMES+=("$(printf '%5d s  %s' $((SECONDS - start)) "$STEP")")
}

# Of a long log, the lines that tell what is wrong, and the end.
show_failure() {
  if [ "$(wc -l <"$1")" -gt 200 ]; then
    grep -aE '✘|error:|WARNING: ThreadSanitizer|ERROR: AddressSanitizer|violation' "$1" | head -n 60 || true
    printf '...\n'
  fi
  tail -n 200 "$1"
}

# swift_tests LOG OPTIONS...: runs the tests; fails as well if none ran. The runner's closing line is the last line of the output.
swift_tests() {
  local log=$LOGS/$1.txt
  shift
  swift test "${BUILD[@]}" --disable-xctest --parallel "$@" 2>&1 | tee "$log"
  closing_line "$log"
}

# The closing line of a run of tests, such as: ✔ Test run with 12 tests in 3 suites passed after 1.2 seconds.
closing_line() {
  grep -aE 'Test run with [1-9][0-9]* tests?.* passed after' "$1" | tail -n 1 | grep . || {
    printf 'no test was run\n'
    return 1
  }
}

format_lint() {
  local -a places=()
  local place
  for place in Sources Tests Benchmarks Fuzz Package.swift; do
    [ ! -e "$place" ] || places+=("$place")
  done
  swift format lint --strict --parallel --recursive "${places[@]}"
  printf 'formatted as .swift-format says\n'
}

tidy() {
  "$TIDEMARK_PYTHON" tools/tidy.py --selftest
  "$TIDEMARK_PYTHON" tools/tidy.py
}

# Simulated disks run as a release executable; in debug they are an order of magnitude slower.
simulate() {
  swift build "${BUILD[@]}" -c release --product tidemark-simulate
  "$(swift build -c release --show-bin-path)/tidemark-simulate" "$@"
}

# Each seeded bug must be caught, and nothing may be broken without one. In a folder of its own: nothing else contains the bugs.
seeded_bugs() {
  local -a place=(-c release --scratch-path .build/seeded-bugs)
  local code=0
  export TIDEMARK_SEEDED_BUGS=1
  swift build "${BUILD[@]}" "${place[@]}" --product tidemark-simulate
  local simulate
  simulate=$(swift build "${place[@]}" --show-bin-path)/tidemark-simulate
  # A gate that can't fail proves nothing: where no state is looked at, nothing is caught.
  "$simulate" --bugs --states 0 --bug noSync || code=$?
  if [ $code -ne 1 ]; then
    printf 'the gate for seeded bugs did not fail, where it had to\n'
    return 1
  fi
  "$simulate" --bugs
}

# with_tool SCRIPT OPTIONS...: runs a script of tools/ on the release executable.
with_tool() {
  local script=$1
  shift
  swift build "${BUILD[@]}" -c release --product tidemark
  "$TIDEMARK_PYTHON" "$script" "$(swift build -c release --show-bin-path)/tidemark" "$@"
}

# crash LAYER OPTIONS...: a layer of real crashes, on the release executable.
crash() {
  swift build "${BUILD[@]}" -c release --product tidemark
  tools/crash.sh "$(swift build -c release --show-bin-path)/tidemark" "$@"
}

# The document of the server's calls, and what a running server makes of right, wrong and malicious ones.
calls_document() {
  .build/schemathesis/bin/python tools/openapi.py
}

# The design models. With --selftest, what checks them is checked first.
models() {
  [ $# -eq 0 ] || "$TIDEMARK_PYTHON" tools/models.py "$@"
  "$TIDEMARK_PYTHON" tools/models.py
}

thread_sanitizer() {
  TSAN_OPTIONS=halt_on_error=1 swift_tests thread-sanitizer --sanitize=thread --scratch-path .build/thread "$@"
}

address_sanitizer() {
  ASAN_OPTIONS=detect_leaks=0 swift_tests address-sanitizer --sanitize=address --scratch-path .build/address "$@"
}

show_times() {
  printf '%s\n' "${TIMES[@]}"
  printf '%5d s  in all\n' "$SECONDS"
}
