"""Files that appear whole or not at all, and pickles without the original framework."""
