"""Checks what this machine can do as a testbed: namespaces, links, capture, with remedies."""
