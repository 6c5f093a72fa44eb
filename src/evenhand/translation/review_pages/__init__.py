"""Reviews of translations: two people read every item beside its source, and a third settles what they differ on."""
