"""`vllm serve --worker-extension-cls worker.WeightsFromFolder` imports this module before it loads the model."""

from patches import WeightsFromFolder, keep_weights_of_linear_layers


__all__ = ["WeightsFromFolder"]

keep_weights_of_linear_layers()
