"""What blocks hold: a module per content.  Each takes bytes and header values, none knows the envelope."""
