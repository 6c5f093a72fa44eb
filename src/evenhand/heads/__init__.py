"""Next-sentence heads: pairs, training and conversion."""
