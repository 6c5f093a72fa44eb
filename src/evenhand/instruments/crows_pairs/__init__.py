"""CrowS-Pairs: pairs of sentences that differ in the group they are about."""
