"""What methods share: optimisers, the quadratic pull, the Fisher information."""
