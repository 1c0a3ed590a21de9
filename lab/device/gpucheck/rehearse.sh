#!/bin/sh
# Rehearses the archive of `make gpu-pack` from beginning to end, where there is neither a GPU nor, in PATH, Go:
#
#   rehearse.sh ARCHIVE DRIVER [PART...]    DRIVER is the emulator: go run ./lab/device/ptxsim
#
# It unpacks the archive into an empty folder, calls its script with an empty HOME, ends a figure by SIGKILL between two of its
# cells, calls it again, and then draws that figure from what came back, without any driver. PARTs are run after it, at preset smoke and
# with short tests; all is every part but torch, for which there is no PyTorch.
set -eu
archive=$1 driver=$2
shift 2
top=$(mktemp -d)
trap 'rm -rf "$top"' EXIT
mkdir "$top/path" "$top/home" "$top/back"
for program in sh tar gzip timeout dirname basename mkdir tr date; do ln -s "$(command -v "$program")" "$top/path/"; done
tar -xf "$archive" -C "$top"
pack=$top/gpu-pack figure=analytic/generator

fail() { echo "rehearse.sh: $*" >&2; exit 1; }
bare() { env -i PATH="$top/path" HOME="$top/home" PRESET=smoke BENCH_TIME=0 SHORT=true PART_SECONDS="${PART_SECONDS:-570}" "$@"; }
parts() { bare COUPLING_CUDA_DRIVER="$driver" COUPLING_CUBLAS="$driver" sh "$pack/run.sh" "$@"; }
cells() { find "$pack/results/store/cells" -name '*.json' 2>/dev/null | wc -l; }

# kill_figure ends the process of this archive's command, whichever shell and timeout stand above it.
kill_figure() {
  for process in /proc/[0-9]*; do
    [ "$(readlink "$process/exe")" != "$pack/bin/coupling" ] || kill -KILL "${process#/proc/}"
  done
}

parts "$figure" >"$top/first" 2>&1 &
first=$!
while [ "$(cells)" = 0 ] && kill -0 "$first" 2>/dev/null; do sleep .1; done
kill_figure
wait "$first" && fail "$figure was over before it could be killed: $(cat "$top/first")"
[ "$(cells)" -gt 0 ] || fail "no cell was finished: $(cat "$top/first")"
parts "$figure" | tee "$top/second"
grep -q "$figure: [1-9][0-9]* cells* recalled, [1-9]" "$top/second" || fail "the second call did not go on from the first's cells"
[ "$*" != all ] || set -- $(parts | while read -r _ part; do [ "$part" = torch ] || echo "$part"; done)
[ $# = 0 ] || parts "$@"

# Home again: the cells are drawn by a command that finds no driver, and the page names their device.
tar -xzf "$pack/results.tar.gz" -C "$top/back"
bare "$pack/bin/coupling" --store "$top/back/results/store" fig make "$figure" --preset smoke --device cuda --out "$top/back/page" | tee "$top/drawn"
grep -q "$figure: [1-9][0-9]* cells recalled, 0 computed" "$top/drawn" || fail "a cell that came back was computed again"
grep -q "<dd>cuda (Emulator" "$top/back/page/index.html" || fail "the page does not name the device"
grep -q "<dt>computed</dt><dd>20" "$top/back/page/index.html" || fail "the page has no date"
