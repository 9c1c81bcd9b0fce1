"""One table: its options, its state at one moment, and which of its features are supported."""
