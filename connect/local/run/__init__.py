"""The runs of this process. `Run`: one run, from its start to its end, with its task and its events for any number of
readers. `Runs`: the scope that owns all of them."""
