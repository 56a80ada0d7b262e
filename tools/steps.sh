# Sourced by tools/test and tools/check: the steps that they share. Output of a step is kept in .build/logs and shown if the step fails.
# shellcheck shell=bash

LOGS=$ROOT/.build/logs
mkdir -p "$LOGS"
rm -f "$LOGS/times" "$LOGS/failed"
BUILD=(--explicit-target-dependency-import-check error)
# Where the executables of `build_release` are.
RELEASE=$ROOT/.build/release
trap '[ $? -eq 0 ] || fail "failed: $(cat "$LOGS/failed" 2>/dev/null || tee "$LOGS/failed" <<<start)"' EXIT

# step TITLE COMMAND...: runs a command, shows its time and its last line. Begins nothing if a step beside it has failed.
step() {
  local title=$1 log code real user system TIMEFORMAT='%0R %0U %0S'
  shift
  log=$LOGS/${title//[^a-z0-9]/-}.log
  [ ! -e "$LOGS/failed" ] || exit 1
  printf -- '-- %s\n' "$title"
  # Not in a condition, or errors inside the command would be ignored.
  set +e
  {
    time {
      (
        set -e
        "$@"
      ) >"$log" 2>&1 </dev/null
    }
  } 2>"$log.time"
  code=$?
  set -e
  if [ $code -ne 0 ]; then
    printf '%s\n' "$title" >>"$LOGS/failed"
    show_failure "$log" >&2
    exit $code
  fi
  read -r real user system <"$log.time"
  printf '%5d s  %5d s of CPU  %s\n' "$real" $((user + system)) "$title" >>"$LOGS/times"
  printf '== %s, %d s\n%s\n' "$title" "$real" "$(tail -n 1 "$log")"
}

# together LANE LANE: two functions that go through steps of their own, side by side. When a step fails, the other lane ends with the one it is at.
together() {
  local lane lanes=() code=0
  for lane in "$@"; do
    "$lane" &
    lanes+=($!)
  done
  for lane in "${lanes[@]}"; do wait "$lane" || code=$?; done
  [ $code -eq 0 ] || exit $code
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

# Once for all that follows: what is tested, the tool, and the simulations.
build_release() {
  swift build "${BUILD[@]}" -c release --build-tests
}

# Simulated disks run as a release executable; in debug they are an order of magnitude slower.
simulate() {
  "$RELEASE/tidemark-simulate" "$@"
}

# In a folder of its own: nothing else contains the bugs.
build_seeded_bugs() {
  TIDEMARK_SEEDED_BUGS=1 swift build "${BUILD[@]}" -c release --scratch-path .build/seeded-bugs --product tidemark-simulate
}

# Each seeded bug must be caught, and nothing may be broken without one.
seeded_bugs() {
  local simulate=.build/seeded-bugs/release/tidemark-simulate code=0
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
  "$TIDEMARK_PYTHON" "$script" "$RELEASE/tidemark" "$@"
}

# crash LAYER OPTIONS...: a layer of real crashes, on the release executable.
crash() {
  tools/crash.sh "$RELEASE/tidemark" "$@"
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

# What waits, tells and shares between threads is in the engine and at the two ends of replication; the other tests are not built.
WITH_THREADS=TidemarkLogTests,TidemarkServerTests
build_thread_sanitizer() {
  TIDEMARK_TESTS=$WITH_THREADS swift build "${BUILD[@]}" --sanitize=thread --scratch-path .build/thread --product tidemarkPackageTests
}

thread_sanitizer_concurrency() {
  TIDEMARK_TESTS=$WITH_THREADS thread_sanitizer --skip-build --filter 'Concurren|Commit|Tail'
}

address_sanitizer() {
  ASAN_OPTIONS=detect_leaks=0 swift_tests address-sanitizer --sanitize=address --scratch-path .build/address "$@"
}

show_times() {
  cat "$LOGS/times"
  printf '%5d s  %5d s of CPU  in all\n' "$SECONDS" "$(awk '{ sum += $3 } END { print sum }' "$LOGS/times")"
}
