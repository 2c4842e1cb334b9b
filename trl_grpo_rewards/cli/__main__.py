"""The command as a module, for launchers: `accelerate launch -m trl_grpo_rewards.cli train`."""

from .main import main


if __name__ == "__main__":
    try:
        main()
    finally:
        exec("")  # else Python ends with -2, not 130, after an interrupt that came within `exec`, as of a dataclass
