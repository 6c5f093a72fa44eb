"""How audits are shown."""
