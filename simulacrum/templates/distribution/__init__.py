"""newdist: a folder for each environment; the entry point of this module makes them known to simulacrum."""
