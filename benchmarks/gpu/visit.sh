#!/bin/bash
# A visit to a machine with a GPU: parts in the order that is asked for, each once, and within a limit of its own.
#
#   bash benchmarks/gpu/visit.sh FOLDER parser tests cuda     FOLDER: what pack.py packed, and what the parts leave
#   bash benchmarks/gpu/visit.sh FOLDER dtg=240 txl-tokens=80 seconds of training
#
# $OUT gets results in few files of less than 16 MB, as they come.
set -u
cd "$(dirname "$0")/../.."
folder=$1; shift
OUT=${OUT:-$folder/out}
mkdir -p "$folder/logs" "$OUT"
export PYTHONPATH=$PWD:${PYTHONPATH:-} PYTHONUNBUFFERED=1 XDG_CACHE_HOME=$folder/cache TQDM_MININTERVAL=10
export TORCHINDUCTOR_CACHE_DIR=$folder/inductor DTG_DATA=$folder
python=${PYTHON:-python3} open=benchmarks/gpu/open.py

part() {  # NAME SECONDS COMMAND...
    local name=$1 limit=$2 began=$SECONDS status; shift 2
    [ -e "$folder/$name.done" ] && return
    timeout -k 5 "$limit" "$@" >"$folder/logs/$name.log" 2>&1; status=$?
    [ $status = 0 ] && touch "$folder/$name.done"
    tr '\r' '\n' <"$folder/logs/$name.log" | tail -n "${LINES_SHOWN:-5}" | cut -c1-300
    echo "== $name: status $status after $((SECONDS - began)) s"
    tar cf "$OUT/logs.tar" -C "$folder" logs
}

carry() {  # NAME FOLDER: in pieces that may leave
    tar c -C "$2" . | split -b 15M - "$OUT/$1.tar."
}

$python -c "from dtglib.families.base import families; families()[0]" || {
    echo "no model is known: dtglib.egg-info, which names them, must lie beside dtglib"; exit 1; }
part unpack 60 $python $open unpack "$folder"
for wish in "$@"; do
    case $wish in
    tests) LINES_SHOWN=20 part tests "${TESTS:-130}" $python -m pytest -m cuda -n 8 -q -p no:cacheprovider \
        $(grep -rlE 'mark.cuda|"cuda"' tests --include=test_*.py) ;;
    parser)
        part parser $((${PARSER:-120} + 60)) $python $open train-parser "$folder" --seconds "${PARSER:-120}" \
            --out "$folder/parser" ${PARSER_SET:-}
        part parse "${PARSE:-100}" $python $open parse "$folder" "$folder/parser" --processes "${PARSERS:-6}"
        part compact 30 $python $open compact "$folder/parser"
        carry parser "$folder/parser"
        for ways in train held-out; do
            xz -T0 -6 -kc "$folder/$ways.ways" | split -b 15M - "$OUT/$ways.ways.xz."
        done ;;
    cuda)
        part cuda "${CUDA:-200}" $python benchmarks/cuda.py --parts training ${CUDA_SET:-}
        tar cf "$OUT/records.tar" benchmarks/records/*-cuda ;;
    beam)
        part beam "${CUDA:-200}" $python benchmarks/cuda.py --parts beam ${CUDA_SET:-}
        tar cf "$OUT/records.tar" benchmarks/records/*-cuda ;;
    checks) part checks "${CUDA:-200}" $python benchmarks/cuda.py --parts checks ${CUDA_SET:-} ;;
    sequences)
        for model in dtg txl-tokens; do
            part "compile-$model" 120 $python $open compile-sequences "$folder" $model --processes "${COMPILERS:-10}"
        done ;;
    pairs)  # 300 trees of each sentence of minilang's pairs, by as many processes on the GPU
        for count in ${SHARING:-1 4 8}; do
            mkdir -p "$folder/pairs-$count"  # rows are kept in the current folder's runs/, so each count has its own
            part "pairs-$count" 90 env -C "$folder/pairs-$count" OMP_NUM_THREADS=1 $python -m torch.distributed.run \
                --standalone --nproc-per-node "$count" -m dtglib blimp minilang --model "$folder/dtg" \
                --parser "$folder/parser" --fraction "${PAIRS:-0.1}"
        done ;;
    *=*)
        model=${wish%=*} seconds=${wish#*=}
        part "train-$model" $((seconds + ${SPARE:-100})) $python $open train-model "$folder" "$model" \
            --seconds "$seconds" --out "$folder/$model" ${MODEL_SET:-}
        carry "$model" "$folder/$model" ;;
    esac
done
