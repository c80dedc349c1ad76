"""Two runs over the same questions: tests, bounds and the questions they need. Numbers in, numbers out.

`design/paired.md` says what is tested and why. Everything is one-sided in the direction "worse" unless said otherwise.
"""
