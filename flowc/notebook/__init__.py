"""Front end 2: a tagged notebook becomes a typed pipeline that gives what the notebook gives from top to bottom.

Each module is a stage: `reader` (file to cells), `lines` (cells to plain Python), `tags` (cells to roles),
`interpret` with `heap` and `effects` (what code does to names and objects), `dataflow` (versions of names, steps),
`lower` (to the IR), and `execute` (the worker's side).
"""
