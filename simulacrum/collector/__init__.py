"""A collector with TorchRL's interface that writes each step straight into the batch that the caller gets."""

from .batch_collector import BatchCollector

__all__ = ["BatchCollector"]
