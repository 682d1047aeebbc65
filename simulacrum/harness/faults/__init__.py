"""Faults on purpose: known faults put into copies of a package one at a time, and which check finds which."""
