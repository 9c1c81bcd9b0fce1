#!/bin/sh
# Prints the Python that hudiformat is set up with, 3.10 or later: $PYTHON, the system's own, or the first one on PATH.
#
# The system's is compiled with all optimizations. One that pyenv has compiled is not unless it was asked for, and takes a
# fifth more time. Without ensurepip the system's cannot make an environment as it is.
is_new_enough='import sys; sys.exit(sys.version_info < (3, 10))'
if [ -z "$PYTHON" ] && /usr/bin/python3 -c "import ensurepip, venv; $is_new_enough" 2>/dev/null; then
    echo /usr/bin/python3
    exit 0
fi
for python in ${PYTHON:-python3 python3.15 python3.14 python3.13 python3.12 python3.11 python3.10}; do
    if "$python" -c "$is_new_enough" 2>/dev/null; then
        command -v "$python"
        exit 0
    fi
done
echo "hudiformat needs Python 3.10 or later: ${PYTHON:-nothing on PATH} is none; PYTHON=... names one." >&2
exit 1
