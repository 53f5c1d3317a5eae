"""Processes that form a gloo group, started once and asked many things."""

import traceback
from datetime import timedelta

import torch
import torch.distributed as dist

from processes import CONTEXT

TIMEOUT = 60  # seconds after which a process that waits for the others gives up


class Gang:
    """A group of processes.

    Args:
        size: How many.
        folder: Where they meet; an empty one.
    """

    def __init__(self, size, folder):
        self._pipes, self._processes = [], []
        for rank in range(size):
            here, there = CONTEXT.Pipe()
            process = CONTEXT.Process(
                target=_serve, args=(rank, size, str(folder / "meet"), there)
            )
            process.start()
            there.close()
            self._pipes.append(here)
            self._processes.append(process)

    def ask(self, function, *arguments):
        """Call a function of the group's rank and size everywhere; give all answers."""
        for pipe in self._pipes:
            pipe.send((function, arguments))
        answers = []
        for rank, pipe in enumerate(self._pipes):
            if not pipe.poll(2 * TIMEOUT):
                raise TimeoutError(f"process {rank} does not answer")
            good, answer = pipe.recv()
            if not good:
                raise AssertionError(f"in process {rank}:\n{answer}")
            answers.append(answer)
        return answers

    def kill(self, rank):
        """End the last process at once."""
        self._processes[rank].kill()
        self._processes[rank].join()
        self._pipes.pop(rank).close()

    def close(self):
        for pipe in self._pipes:
            pipe.close()
        for process in self._processes:
            process.join(10)
            process.kill()


def _serve(rank, size, meet, pipe):
    torch.set_num_threads(1)
    dist.init_process_group(
        "gloo",
        init_method=f"file://{meet}",
        rank=rank,
        world_size=size,
        timeout=timedelta(seconds=TIMEOUT),
    )
    while True:
        try:
            function, arguments = pipe.recv()
        except EOFError:
            break
        try:
            answer = True, function(rank, size, *arguments)
        except Exception:
            answer = False, traceback.format_exc()
        pipe.send(answer)
    dist.destroy_process_group()
