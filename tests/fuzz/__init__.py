"""Damage every kind of file that Ragworthy reads, and prove that every command ends in an orderly way.

    PYTHONPATH=tests python -m fuzz --seconds 60 [--seed N] [--cases N] [--kind NAME] [--keep-going]

A case is a scenario (sound files and commands: `scenarios`), a list of edits (`edits`, chosen by `mutate`) and what
must hold afterwards (`checks`). Cases run in a worker process (`worker`) that is killed and started again when one
hangs (`pool`). One that fails is made smaller and kept in `kept/`, where tests/project/test_fuzz_kept.py finds it.
"""
