"""`distutils`, gone since Python 3.12: what scripts used of it beside building packages, which setuptools does."""
