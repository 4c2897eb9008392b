#!/bin/bash
# What travels to a machine with a GPU has a limit: delete what is not needed there from the work tree, and restore it.
#
#   bash benchmarks/gpu/aside.sh away        then say what is left, in megabytes
#   bash benchmarks/gpu/aside.sh back
set -eu
cd "$(dirname "$0")/../.."
paths=(notebooks figures results models/*-ud models/translator-* models/spans-* models/plm-* models/weak-*)
case $1 in
away)
    [ -z "$(git status --porcelain "${paths[@]}")" ] || { echo "commit first: ${paths[*]}"; exit 1; }
    rm -r "${paths[@]}"
    { git ls-files --cached --others --exclude-standard; find .gpu .whl -type f; } | sort -u | tr '\n' '\0' |
        xargs -0 ls -l 2>/dev/null | awk '{ bytes += $5 } END { printf "%.1f MB travel\n", bytes / 2^20 }' ;;
back) git checkout -- notebooks figures results models ;;
esac
