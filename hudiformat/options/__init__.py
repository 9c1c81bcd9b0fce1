"""Every option: its enumeration, parser, default and Hudi key."""
