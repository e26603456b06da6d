"""How a loader makes a batch of samples."""
