"""A module that cannot be imported by whoever asks for it as a target."""

import sys

if "ragworthy.runner.targets.callables" in sys.modules and __name__ == "broken_module":
    raise RuntimeError("the model file is missing")
