"""What writes the files of one file group: appended log files, new base files, merged base files."""
