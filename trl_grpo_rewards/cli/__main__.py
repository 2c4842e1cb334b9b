"""The command as a module, for launchers: `accelerate launch -m trl_grpo_rewards.cli train`."""

from .main import main


if __name__ == "__main__":
    main()
