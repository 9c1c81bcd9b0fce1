#!/bin/sh
# Prints the first Python that hudiformat runs on, 3.10 or later.
for python in python3 python3.15 python3.14 python3.13 python3.12 python3.11 python3.10; do
    if "$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
        command -v "$python"
        exit 0
    fi
done
echo "hudiformat needs Python 3.10 or later, and there is none on PATH." >&2
exit 1
