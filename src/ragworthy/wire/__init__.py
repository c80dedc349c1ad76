"""The one HTTP client: for targets, chat endpoints and embedding endpoints alike.

What holds for every request: one deadline for the whole exchange, a limit on the size of the body, no packed bodies, no
redirects, no proxies of the environment, and nothing that comes back or goes wrong is shown before the secrets are out
of it.
"""
