collect_ignore = ["sitecustomize.py"]  # importing it hides PyTorch from the other tests
