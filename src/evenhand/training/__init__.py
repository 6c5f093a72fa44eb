"""Training on Transformers' Trainer: objectives, epochs, checkpoints, seeds."""
