"""The timeline: instants, the metadata of their actions, and the table's properties."""
