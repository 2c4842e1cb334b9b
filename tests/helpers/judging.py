"""Settings of judges."""

from trl_grpo_rewards.judging.settings import Settings


def build_settings(base_url: str | None = "http://localhost:9/v1", **options) -> Settings:
    """Return settings with no retries. Any option can be given."""
    defaults = {
        "model": "m",
        "api_key_env": "NO_KEY",
        "request": None,
        "max_concurrency": 4,
        "timeout": 5.0,
        "batch_timeout": 5.0,
        "retries": 0,
        "max_failures": 0.2,
        "cache": None,
    }
    return Settings(**{**defaults, "base_url": base_url, **options})
