"""What suits a model where nothing was asked for. Every such choice is made here."""
