"""What users hold in their hands: tables, opened and created, with their queries, writes and services."""
