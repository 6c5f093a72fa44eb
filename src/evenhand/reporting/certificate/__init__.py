"""How certificates and mitigations are shown."""
