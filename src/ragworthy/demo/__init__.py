"""The demo: a release that ships, the same with a defect, a new index, and on request the pipeline itself."""
