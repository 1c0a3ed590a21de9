#!/bin/sh
# Checks, benchmarks and paper-size figures on a machine with a GPU, which needs no Go: everything lies beside this script.
#
#   sh run.sh                 the parts, and which are done
#   sh run.sh PART...         these parts, in this order
#   sh run.sh all             all that are not done
#
# A part takes at most ten minutes (PART_SECONDS), a benchmark 300 ms (BENCH_TIME, 0 for none); SHORT=true makes checks short.
# A part that is cut off goes on where it stopped when it is called again: figures keep their finished cells and the state of
# trainings under way.
# Everything is written below results/ (RESULTS).
# DEVICE (cuda:0) may also be cuda:1 or cuda:0,tf32. MNIST and the other sets are read from data/, if there is such a
# folder, else figures draw the samples that the command carries. Exit status: 0 all done, 1 some not.
set -u
cd "$(dirname "$0")" || exit 1
here=$PWD
: "${DEVICE:=cuda:0}" "${PART_SECONDS:=570}" "${PRESET:=paper}" "${BENCH_TIME:=300ms}" "${SHORT:=false}"
results=${RESULTS:-$here/results}
export HOME="${HOME:-$results}" XDG_CACHE_HOME="$results/cache"
[ -d data ] && export COUPLING_DATA="$here/data"

checks="check-device check-nn check-train check-arch check-eval check-dsm check-scones
  check-dpsinkhorn"
figures="dpsinkhorn/fig2 dpsinkhorn/tab1 dpsinkhorn/fig4a dpsinkhorn/fig5 dpsinkhorn/fig7 dpsinkhorn/tab2 dpsinkhorn/tab4
  dpsinkhorn/tab5 dpsinkhorn/fig4b dpsinkhorn/fig3 dpsinkhorn/fig6 dpsinkhorn/tab3 dpsinkhorn/tab6 scones/fig4 scones/tab2
  scones/fig3 scones/tab7 scones/fig1 scones/fig2 scones/tab1 amplification/fig24 analytic/generator analytic/scaling"
parts="check-ot torch $checks $figures"

mark() { echo "$results/done/$(echo "$1" | tr / -)"; }

# limited runs a command for at most PART_SECONDS: then it is told to end and saves what it has; if it does not, it is killed.
limited() { timeout --signal=TERM --kill-after=20 "$PART_SECONDS" "$@"; }

part() {
  case $1 in
  check-*) limited bin/gpucheck -device "$DEVICE" -suites "${1#check-}" -benchtime "$BENCH_TIME" -short="$SHORT" -budget "${PART_SECONDS}s" -out "$results/check" ;;
  torch) limited python3 torch_rows.py --device "${DEVICE%%,*}" --out "$results/torch.json" ;;
  *) limited bin/coupling --store "$results/store" fig make "$1" --preset "$PRESET" --device "$DEVICE" --out "$results/figures" ;;
  esac
}

if [ $# = 0 ]; then
  for p in $parts; do
    state=todo
    [ -e "$(mark "$p")" ] && state=done
    printf '%-6s%s\n' "$state" "$p"
  done
  exit 0
fi
[ "$1" = all ] && set -- $parts
mkdir -p "$results/done"
left=0
for p in "$@"; do
  case " $(echo $parts) " in *" $p "*) ;; *) echo "run.sh: there is no part $p; sh run.sh lists them" >&2; exit 1 ;; esac
  [ -e "$(mark "$p")" ] && continue
  echo "== $p, at most $PART_SECONDS s"
  if part "$p"; then
    date -u +%FT%TZ >"$(mark "$p")"
  else
    echo "== $p is not done (status $?): call it again, or see what it printed" >&2
    left=1
  fi
done
tar -czf "$results.tar.gz" -C "$(dirname "$results")" "$(basename "$results")" && echo "$results.tar.gz holds reports, cells and figures"
exit $left
