"""Partitions of a table where Dask keeps them: work is brought to them, and only answers come back.

A partition has a state, which stays where it was made: with a client of dask.distributed in the memory of a worker, without one
in this process. Two things can be done with it: ask a question (:meth:`Partitions.each`) and make another state of it
(:meth:`Partitions.kept`). A state is a pure function of the partition and of small arguments, so Dask makes it again elsewhere
if its worker dies.

Questions on a cluster are pinned to the workers that hold the states, one task per thread: left alone, the scheduler would now
and then move a state to an idle worker, which costs more than the question. A pinned task waits for its worker forever, so who
waits looks now and then whether that worker is still there, and asks again without a pin if it is not.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, zip_longest
from typing import Any, Protocol, TypeVar

import numpy as np

from surefoot.exceptions import InvalidTableError

Answer = TypeVar("Answer")

# Seconds between two looks at whether the workers still live; answers are noticed at once.
LOOK_EVERY = 1.0


class Partitions(Protocol):
    """States of partitions; ``work`` is a function of a module, its arguments and answers are small and can be pickled."""

    def __len__(self) -> int: ...

    def each(self, work: Callable[..., Answer], arguments: Sequence[tuple[Any, ...]]) -> Sequence[Answer]:
        """``work(state, *arguments[k])`` of every partition k, in their order."""
        ...

    def kept(self, work: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> Partitions:
        """Partitions whose states are ``work(state, *arguments[k])``, and stay where these are."""
        ...

    def chosen(self, places: Sequence[int]) -> Partitions:
        """Some of the partitions, sharing their states."""
        ...

    def release(self) -> None:
        """Let go of the states; what was made of them stays."""
        ...


def open_partitions(delayed: Sequence[Any]) -> Partitions:
    """Compute delayed objects, one per partition, and keep them where Dask computed them."""
    import dask
    from dask.base import get_scheduler

    # The client that dask.compute would use now, if any: users choose with a Client, as_current() or dask.config.
    client = getattr(get_scheduler(), "__self__", None)
    if client is None or not hasattr(client, "submit"):
        return LocalPartitions(list(dask.compute(*delayed)))
    return ClusterPartitions.computed(client, delayed)


@dataclass
class LocalPartitions:
    """In this process; Dask's scheduler (by default its threads) works on them."""

    states: list[Any]

    def __len__(self) -> int:
        return len(self.states)

    def each(self, work: Callable[..., Answer], arguments: Sequence[tuple[Any, ...]]) -> Sequence[Answer]:
        import dask

        # A partial is opaque to Dask, which would otherwise look through the arguments for things to compute.
        questions = [partial(Asked(work, (given,)), [Held(state)]) for state, given in zip(self.states, arguments, strict=True)]
        tasks = [dask.delayed(question, pure=False, traverse=False)() for question in questions]
        return _unless_refused([answer for (answer,) in dask.compute(*tasks)])

    def kept(self, work: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> LocalPartitions:
        return LocalPartitions(list(self.each(work, arguments)))

    def chosen(self, places: Sequence[int]) -> LocalPartitions:
        return LocalPartitions([self.states[k] for k in places])

    def release(self) -> None:
        self.states = []


@dataclass(frozen=True)
class Held:
    """A state on a worker, which tells Dask its true size: what it believes decides when to spill."""

    value: Any

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + array_bytes(self.value)


def array_bytes(value: Any) -> int:
    """Bytes of the arrays that an object holds, directly or in its attributes and entries."""
    if isinstance(value, np.ndarray):
        return int(value.nbytes)
    if isinstance(value, (tuple, list)):
        return sum(map(array_bytes, value))
    if type(value).__module__.startswith(("surefoot.", "scipy.")):
        return sum(map(array_bytes, getattr(value, "__dict__", {}).values()))
    usage = getattr(value, "memory_usage", None)  # a data frame or a series of pandas
    return int(np.sum(usage(deep=False))) if usage is not None else 0


@dataclass(frozen=True)
class Refusal:
    """What a partition answers if its rows cannot be used; who asks raises the first one, whichever came first in time."""

    error: InvalidTableError


@dataclass(frozen=True)
class Asked:
    """A question to some partitions of one worker; an object of its own, so that Dask does not look into the arguments."""

    work: Callable[..., Any]
    arguments: tuple[tuple[Any, ...], ...]

    def __call__(self, states: Sequence[Held]) -> list[Any]:
        return [self._answer(state.value, given) for state, given in zip(states, self.arguments, strict=True)]

    def _answer(self, state: Any, given: tuple[Any, ...]) -> Any:
        try:
            return self.work(state, *given)
        except InvalidTableError as error:
            return Refusal(error)


@dataclass(frozen=True)
class Making:
    """What makes one state of another."""

    work: Callable[..., Any]
    arguments: tuple[Any, ...]

    def __call__(self, state: Held) -> Held:
        return Held(self.work(state.value, *self.arguments))


@dataclass
class ClusterPartitions:
    """On the workers of a cluster.

    Attributes
    ----------
    client : distributed.Client
    states : list of distributed.Future
        Each of a :class:`Held`.
    homes : list of str
        The address of the worker that holds each state.
    threads : dict
        Number of threads of each worker.
    """

    client: Any
    states: list[Any]
    homes: list[str] = field(default_factory=list)
    threads: dict[str, int] = field(default_factory=dict)

    @classmethod
    def computed(cls, client: Any, delayed: Sequence[Any]) -> ClusterPartitions:
        import dask

        hold = dask.delayed(Held, pure=False)
        return cls._settled(client, client.compute([hold(part) for part in delayed]))

    @classmethod
    def _settled(cls, client: Any, states: list[Any]) -> ClusterPartitions:
        """Waits for the states, and lets go of all of them if one fails or somebody interrupts."""
        partitions = cls(client, states)
        try:
            _wait_for(states)
            partitions._locate()
        except BaseException:
            partitions.release()
            raise
        return partitions

    def __len__(self) -> int:
        return len(self.states)

    def each(self, work: Callable[..., Answer], arguments: Sequence[tuple[Any, ...]]) -> Sequence[Answer]:
        groups = self._groups()
        tasks = [self._ask(work, arguments, group, self.homes[group[0]]) for group in groups]
        try:
            answers = self._gathered(tasks, {self.homes[group[0]] for group in groups})
            if answers is None:
                _release(tasks)
                groups = [[k] for k in range(len(self))]
                tasks = [self._ask(work, arguments, group, None) for group in groups]
                answers = self.client.gather(tasks)
                self._locate()
        finally:
            _release(tasks)
        by_partition = dict(zip(chain(*groups), chain(*answers), strict=True))
        return _unless_refused([by_partition[k] for k in range(len(self))])

    def kept(self, work: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> ClusterPartitions:
        made: list[Any] = [None] * len(self)
        try:
            # No more at a time than threads can start on: an idle worker would fetch the state of a task that has to wait.
            for wave in zip_longest(*self._groups()):
                started = [k for k in wave if k is not None]
                for k in started:
                    making = Making(work, tuple(arguments[k]))
                    made[k] = self.client.submit(making, self.states[k], key=_key(work), pure=False)
                _wait_for([made[k] for k in started])
        except BaseException:
            _release([future for future in made if future is not None])
            raise
        return self._settled(self.client, made)

    def chosen(self, places: Sequence[int]) -> ClusterPartitions:
        return replace(self, states=[self.states[k] for k in places], homes=[self.homes[k] for k in places])

    def release(self) -> None:
        _release(self.states)
        self.states, self.homes = [], []

    def _ask(self, work: Callable[..., Any], arguments: Sequence[tuple[Any, ...]], group: list[int], home: str | None) -> Any:
        question = Asked(work, tuple(arguments[k] for k in group))
        states = [self.states[k] for k in group]
        pinned = {} if home is None else {"workers": [home]}
        return self.client.submit(question, states, key=_key(work), pure=False, **pinned)

    def _groups(self) -> list[list[int]]:
        """The partitions of each worker, dealt out to as many tasks as it has threads."""
        by_home: dict[str, list[int]] = {}
        for k, home in enumerate(self.homes):
            by_home.setdefault(home, []).append(k)
        tasks = {home: min(self.threads.get(home, 1), len(places)) for home, places in by_home.items()}
        return [places[start :: tasks[home]] for home, places in by_home.items() for start in range(tasks[home])]

    def _locate(self) -> None:
        """Where the states are now."""
        holders = self.client.who_has(self.states)
        self.threads = self.client.nthreads()
        # A state that is being made again at this moment has no home; any living worker may be asked for it.
        anyone = next(iter(self.threads), "")
        self.homes = [next(iter(holders.get(state.key, ())), anyone) for state in self.states]

    def _gathered(self, tasks: list[Any], homes: set[str]) -> list[Any] | None:
        """The answers of pinned tasks; None if one of their workers has gone."""
        from distributed import wait

        def gone() -> bool:
            return not homes <= set(self.client.nthreads())

        while True:
            try:
                wait(tasks, timeout=LOOK_EVERY)
                break
            except TimeoutError:
                if gone():
                    return None

        async def gather() -> Any:
            return await self.client.gather(tasks, asynchronous=True)

        # A worker may still take its answers with it before they are here.
        gathering = asyncio.run_coroutine_threadsafe(gather(), self.client.loop.asyncio_loop)
        try:
            while not concurrent.futures.wait([gathering], timeout=LOOK_EVERY).done:
                if gone():
                    return None
            answers: list[Any] = gathering.result()
            return answers
        finally:
            gathering.cancel()


def _unless_refused(answers: list[Any]) -> list[Any]:
    for answer in answers:
        if isinstance(answer, Refusal):
            raise answer.error
    return answers


def _wait_for(states: list[Any]) -> None:
    """Waits until states are made; raises what kept one from being made."""
    from distributed import wait

    wait(states)
    for state in states:
        if state.status == "error":
            state.result()


def _key(work: Callable[..., Any]) -> str:
    return f"surefoot_{work.__name__}-{uuid.uuid4().hex}"


def _release(futures: Iterable[Any]) -> None:
    """Explicitly: a traceback may keep the futures alive for longer than anybody needs them."""
    for future in futures:
        future.release()
