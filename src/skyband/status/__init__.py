"""Where a pipeline stands, as the files of its state folder tell; nothing is run, and Spark is not needed."""
