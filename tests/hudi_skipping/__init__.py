"""Tables that we write with edge values in every column, and conditions for which real Hudi must lose no row."""
