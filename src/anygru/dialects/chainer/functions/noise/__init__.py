"""Functions of chance. They draw from NumPy's global generator."""
