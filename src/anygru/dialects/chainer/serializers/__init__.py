"""Saving and loading objects."""

from ..serializers.hdf5 import HDF5Deserializer, HDF5Serializer, load_hdf5, save_hdf5
from ..serializers.npz import DictionarySerializer, NpzDeserializer, load_npz, save_npz

__all__ = [
    "DictionarySerializer",
    "HDF5Deserializer",
    "HDF5Serializer",
    "NpzDeserializer",
    "load_hdf5",
    "load_npz",
    "save_hdf5",
    "save_npz",
]
