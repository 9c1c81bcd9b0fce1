"""The locks of other services that writers of a table can share, each as Hudi's class for it takes it."""
