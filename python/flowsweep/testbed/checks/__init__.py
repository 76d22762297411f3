"""What this machine can do as a testbed: namespaces, links, capture, each with a remedy."""
