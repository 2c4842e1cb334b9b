"""The command as a module, for launchers: `accelerate launch -m trl_grpo_rewards.cli train`."""

from .main import main


if __name__ == "__main__":
    try:
        main()
    finally:
        # Python kills a module with SIGINT if an interrupt came within `exec` of a text, which dataclasses use, even
        # if the interrupt was caught. The next `exec` undoes that, and the exit code of the command stands.
        exec("")
