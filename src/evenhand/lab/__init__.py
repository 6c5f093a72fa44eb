"""The lab: small models whose bias is known because it was planted, and what the measures make of it."""
