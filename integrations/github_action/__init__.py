"""The steps of the GitHub Action (``action.yml``), each a module; ``python integrations/github_action STEP`` runs one.

What a step reads comes in environment variables, GitHub's own and those that ``action.yml`` names; what it says goes
where GitHub asks for it. So each runs in any folder that is a git checkout.
"""
