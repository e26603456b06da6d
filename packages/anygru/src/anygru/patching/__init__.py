"""Changes to existing models: `accelerate`, `restore`, `freeze` and `explain`."""
