"""Charts of the HTML report: plain data in, SVG out; each module has the data and a function that draws it.

| Module | Data | Draws |
|---|---|---|
| `gate` | `Gate`, `of_report(entry)` | `picture`: a gate's value, interval, threshold and margin, for a table |
| `lines` | `Lines`, `Line` | `picture`: a metric over runs, recall over k by type |
| `histogram` | `Histogram`, `Bin`, `Band` | `picture`: how often each ΔS came, with its bands |
| `stacked` | `Stacked`, `Whole` | `picture`: parts of wholes, such as the marks of λ |
| `bars` | `Bars`, `Bar` | `picture`: one metric by name, such as stability by jitter |
| `bars` | `Slices` | `small_multiples`: metrics of slices with their intervals |
| `bars` | `Waterfall`, `Step` | `waterfall`: where questions are lost |
| `matrix` | `Matrix` | `picture`: pairs of labels, refusals that should be and that are |
| `scatter` | `Scatter`, `Dot` | `picture`: latency against precision with the frontier and the gates |

A chart is an `<svg role="img">` whose title and description say in words what it shows. It has no ids, so that one page
can have any number of them, and no colours: those are in `charts.css`, which takes them from the variables of the page.
"""
