"""Imported before the model is loaded by the worker of `vllm serve --worker-extension-cls worker.WeightsFromFolder`."""

from patches import WeightsFromFolder, keep_weights_of_linear_layers


__all__ = ["WeightsFromFolder"]

keep_weights_of_linear_layers()
