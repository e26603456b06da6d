"""`mx.contrib.amp`: mixed precision, which is not covered; programs ask whether it is on."""

_amp_initialized = False
