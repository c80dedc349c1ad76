"""Two runs from wherever they are kept, side by side: reports, folders of runs, traces, TREC runs, the history."""
