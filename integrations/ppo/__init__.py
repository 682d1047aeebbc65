"""PPO with TorchRL's losses and simulacrum's collector: what ``integrations/torchrl_ppo.py`` runs.

``settings`` reads a configuration, ``features`` turns what is seen into numbers, ``policy`` holds the networks,
``learner`` the advantages and the updates, ``trainer`` the loop and its checkpoints, ``logs`` what is shown and
written, and ``evaluate`` plays a policy and measures it.
"""
