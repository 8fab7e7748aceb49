"""The number of threads of torch's operations."""

import threading

import torch

_NUMBER_LOCK = threading.Lock()


def use_one_torch_thread() -> None:
    """Makes torch's operations in the current thread run on that thread alone; those of other threads do as before."""
    with _NUMBER_LOCK:
        before = torch.get_num_threads()
        torch.set_num_threads(1)
        torch.get_num_threads()  # a thread adopts the number at its first query
        # the number for threads that start later has changed too; another thread sets it, which keeps its own number
        other_thread = threading.Thread(target=torch.set_num_threads, args=(before,))
        other_thread.start()
        other_thread.join()
