"""Commands about instants: which there are, and what each did."""
