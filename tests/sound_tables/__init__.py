"""Tables with every feature, made by every Hudi: nothing is wrong with them, and hudiformat has to say so."""
