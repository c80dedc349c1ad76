"""A local web application over the history: runs, trends, comparisons, questions, live alerts and the rollout.

It reads. Two things can be written, a blessing and a step of a rollout, by the functions that the commands use.
`door` decides what is let in, `app` knows the addresses, the modules below `shows` fill the pages.
"""
