"""Starting a job of several processes."""
