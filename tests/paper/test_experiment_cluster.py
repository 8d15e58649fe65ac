"""A real Dask cluster on this machine: the same table, even if a worker dies."""

import os
import signal
import threading
import time

import pytest
from experiment_cases import COUNT, SPEC, measured

from noap.errors import InvalidProblem, NoapError
from noap.experiments import Store, run

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def cluster():
    # Ports of its own choosing, so that clusters on the same machine do not meet.
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", scheduler_port=0
    ) as found:
        yield found


def slow_work(pause, log):
    def work(trial):  # a closure travels by value: workers cannot import the tests
        import os
        import time

        from noap.experiments import perform

        time.sleep(pause)
        with open(log, "a", encoding="utf-8") as stream:
            stream.write(f"{os.getpid()}\n")
        return perform(trial)

    return work


def test_a_worker_is_killed_and_the_table_is_the_same(cluster, tmp_path):
    with distributed.Client(cluster, set_as_default=False) as client:
        victims = list(client.run(os.getpid).values())
    assert len(victims) == 2
    path = tmp_path / "cluster.jsonl"

    def kill_one():
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            time.sleep(0.02)
            with Store(path, writing=False) as reader:
                if len(reader) >= 5:
                    os.kill(victims[0], signal.SIGKILL)
                    killed.set()
                    return

    killed = threading.Event()
    with Store(path) as store:
        killer = threading.Thread(target=kill_one)
        killer.start()
        ended = run([SPEC], store, cluster=cluster.scheduler_address, work=slow_work(0.05, str(tmp_path / "log")))
        killer.join()
        assert killed.is_set()
        workers = set(map(int, (tmp_path / "log").read_text().split()))
        assert set(victims) <= workers
        assert os.getpid() not in workers
        assert (ended.done, ended.complete) == (COUNT, True)
        found = measured(store)
    with Store(tmp_path / "here.jsonl") as store:
        run([SPEC], store)
        assert measured(store) == found


def test_an_address_that_is_none_and_one_that_does_not_answer(tmp_path):
    with Store(tmp_path / "trials.jsonl") as store:
        with pytest.raises(InvalidProblem, match="address of a Dask scheduler"):
            run([SPEC], store, cluster="somewhere")
        with pytest.raises(NoapError, match="cannot be reached"):
            run([SPEC], store, cluster="tcp://127.0.0.1:9")
        assert len(store) == 0
