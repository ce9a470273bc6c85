"""Converts any value to JSON, computes the difference between two JSON values, and reads incomplete JSON text.

The modules of this package know nothing about streams or AG-UI. Every other package may import this one. It imports no
other package of the translator.
"""
