#!/bin/sh
# dieharder on the stream that environments consume (stream.py): all tests once, then every test that is not PASSED once
# more on another part of the stream, with as many samples as it takes to decide (-Y 1). Prints dieharder's report.
# It takes most of an hour. Needs dieharder, and a Python that has simulacrum.
#
#     docs/dieharder/run.sh [SEED [SEED OF THE SECOND PART]] > docs/dieharder/result.txt
set -eu

here=$(dirname "$0")
seed=${1:-0}
second=${2:-1}
report=$(mktemp)
trap 'rm -f "$report"' EXIT

stream() { "${PYTHON:-python}" "$here/stream.py" "$1"; }

number() { # of the test with this name; empty for an unknown one
    case $1 in
        diehard_birthdays) echo 0 ;;     diehard_operm5) echo 1 ;;        diehard_rank_32x32) echo 2 ;;
        diehard_rank_6x8) echo 3 ;;      diehard_bitstream) echo 4 ;;     diehard_opso) echo 5 ;;
        diehard_oqso) echo 6 ;;          diehard_dna) echo 7 ;;           diehard_count_1s_str) echo 8 ;;
        diehard_count_1s_byt) echo 9 ;;  diehard_parking_lot) echo 10 ;;  diehard_2dsphere) echo 11 ;;
        diehard_3dsphere) echo 12 ;;     diehard_squeeze) echo 13 ;;      diehard_sums) echo 14 ;;
        diehard_runs) echo 15 ;;         diehard_craps) echo 16 ;;        marsaglia_tsang_gcd) echo 17 ;;
        sts_monobit) echo 100 ;;         sts_runs) echo 101 ;;            sts_serial) echo 102 ;;
        rgb_bitdist) echo 200 ;;         rgb_minimum_distance) echo 201 ;; rgb_permutations) echo 202 ;;
        rgb_lagged_sum) echo 203 ;;      rgb_kstest_test) echo 204 ;;     dab_bytedistrib) echo 205 ;;
        dab_dct) echo 206 ;;             dab_filltree) echo 207 ;;        dab_filltree2) echo 208 ;;
        dab_monobit2) echo 209 ;;
    esac
}

echo "# stream.py $seed | dieharder -a -g 200"
stream "$seed" | dieharder -a -g 200 | tee "$report"

tr -d ' ' < "$report" |
awk -F '|' '$6 == "WEAK" || $6 == "FAILED" { print $1, $1 == "sts_serial" ? 0 : $2 }' | sort -u |
while read -r name tuple; do
    set -- -d "$(number "$name")"
    [ "$tuple" = 0 ] || set -- "$@" -n "$tuple"
    echo "# not PASSED above, once more: stream.py $second | dieharder -g 200 -Y 1 $*"
    stream "$second" | dieharder -g 200 -Y 1 "$@"
done
