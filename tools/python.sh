#!/bin/sh
# Prints the first Python that hudiformat runs on, 3.10 to 3.13.
for python in python3 python3.13 python3.12 python3.11 python3.10; do
    if "$python" -c 'import sys; sys.exit(not (3, 10) <= sys.version_info[:2] < (3, 14))' 2>/dev/null; then
        command -v "$python"
        exit 0
    fi
done
echo "hudiformat needs Python 3.10, 3.11, 3.12 or 3.13, and there is none on PATH." >&2
exit 1
