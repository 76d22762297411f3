"""The claims about a capture that its grade may forbid."""

#: Claims that a fault of grade C may forbid. D forbids all.
GAPS = "gaps between packets"
CONTENT = "messages and what held senders back"
DELAYS = "one-way delays"
CLAIMS = (GAPS, CONTENT, DELAYS)
