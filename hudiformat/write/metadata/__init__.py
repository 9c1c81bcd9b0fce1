"""Keep the metadata table up to date: what each action adds to each of its partitions."""
