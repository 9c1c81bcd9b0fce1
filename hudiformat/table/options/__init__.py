"""Every option: its key in Hudi, its parser, its default."""
