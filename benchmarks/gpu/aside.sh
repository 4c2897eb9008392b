#!/bin/bash
# What travels to a machine with a GPU has a limit: set aside what is not needed there, and put it back.
#
#   bash benchmarks/gpu/aside.sh away        then say what is left, in megabytes
#   bash benchmarks/gpu/aside.sh back
set -eu
cd "$(dirname "$0")/../.."
aside=$(git rev-parse --absolute-git-dir)/aside
case $1 in
away)
    [ -e "$aside" ] && { echo "$aside is there already: put it back first"; exit 1; }
    mkdir -p "$aside/models"
    mv notebooks figures results "$aside"
    mv models/*-ud models/translator-* models/spans-* models/plm-* models/weak-* "$aside/models"
    { git ls-files --cached --others --exclude-standard; find .gpu .whl -type f; } | sort -u | tr '\n' '\0' |
        xargs -0 ls -l 2>/dev/null | awk '{ bytes += $5 } END { printf "%.1f MB travel\n", bytes / 2^20 }' ;;
back)
    mv "$aside"/models/* models
    rmdir "$aside/models"
    mv "$aside"/* .
    rmdir "$aside"
    git status --short ;;
esac
