"""`vllm serve --worker-extension-cls worker.WeightsFromFolder` imports this in its worker before the model is loaded."""

from patches import WeightsFromFolder, keep_weights_of_linear_layers


__all__ = ["WeightsFromFolder"]

keep_weights_of_linear_layers()
