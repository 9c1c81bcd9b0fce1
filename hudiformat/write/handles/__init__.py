"""Handles write the files of one file group: append log blocks, create base files, or merge into the next base file."""
