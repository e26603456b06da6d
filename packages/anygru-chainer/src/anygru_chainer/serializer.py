"""The base classes of serializers."""

from typing import Any


class AbstractSerializer:
    """Visits an object's values by name: `serializer(key, value)`, and `serializer[key]` for nested objects."""

    def __getitem__(self, key: str) -> Any:
        raise NotImplementedError

    def __call__(self, key: str, value: Any) -> Any:
        raise NotImplementedError


class Serializer(AbstractSerializer):
    """Stores values; calling it returns the value."""

    def save(self, obj: Any) -> None:
        """Save an object: `obj.serialize(self)`."""
        obj.serialize(self)


class Deserializer(AbstractSerializer):
    """Reads values; calling it returns the stored value."""

    def load(self, obj: Any) -> None:
        """Load into an object: `obj.serialize(self)`."""
        obj.serialize(self)
