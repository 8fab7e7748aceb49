collect_ignore = ["sitecustomize.py"]  # importing it hides the other wings from the other tests
