"""The byte-level language model that `anygru train` trains and `anygru sample` reads.

options     the options of a run, with limits
corpus      text as documents, training and held out
lanes       documents as ragged batches, without padding
model       embedding, GRU, head
trainer     one training step, one validation
checkpoint  the files of a run
session     a run from its first step, or from a checkpoint, to its end
processes   a run in several processes
progress, report, plot, generate     the output
"""
