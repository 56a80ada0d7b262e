#!/usr/bin/env bash
# Layers of crashes on a real system: runs `tidemark crashtest` on our own settings and prints one line for machines on each layer. Exit
# code 1 if anything acknowledged was lost, or if a control lost nothing.
#
#   tools/crash.sh TIDEMARK LAYER [FACTOR [SEED]]
#
# LAYER: power (or one of power-ext4, power-xfs), replay, sync, full, kill, kill-call. FACTOR makes it so many times as long.
set -euo pipefail

[ $# -ge 2 ] || {
  printf 'usage: tools/crash.sh TIDEMARK LAYER [FACTOR [SEED]]\n' >&2
  exit 2
}
tidemark=$1
layer=$2
factor=${3:-1}
seed=${4:-1}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# run FAULTS ENGINES HOW-LONG...: the small setting rolls and seals all the time.
run() {
  "$tidemark" crashtest "$folder/run" --lines --seed "$seed" --faults "$1" "${@:3}" --engines "$2"
}

case $layer in
  power)
    run power-ext4 tidemark-synced,tidemark-small --count $((450 * factor))
    run power-xfs tidemark-synced,tidemark-small --count $((50 * factor))
    ;;
  power-*) run "$layer" tidemark-synced,tidemark-small --count $((450 * factor)) ;;
  replay) run replay tidemark-synced,tidemark-small --count $((1500 * factor)) ;;
  sync) run sync tidemark-synced,tidemark-small --seconds $((12 * factor)) ;;
  full) run full tidemark-synced,tidemark-written --seconds $((8 * factor)) ;;
  kill) run kill-random tidemark-written,tidemark-small --seconds $((20 * factor)) ;;
  kill-call) run kill-call tidemark-synced,tidemark-small --count $((400 * factor)) ;;
  *)
    printf 'tools/crash.sh: no layer %s\n' "$layer" >&2
    exit 2
    ;;
esac
