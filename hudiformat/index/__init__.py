"""Record key -> file group."""
