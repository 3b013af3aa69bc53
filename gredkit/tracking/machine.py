"""What a machine does while a trial runs, read by MLflow's own monitors, which send nothing."""

import os
from collections.abc import Callable
from contextlib import suppress

ASKED = "MLFLOW_ENABLE_SYSTEM_METRICS_LOGGING"  # MLflow's name for the same


def monitor() -> Callable[[], dict[str, float]]:
    """A function that reads the metrics; it returns none unless the environment asks for them.

    The use of the processor is the mean since the last reading. Everything is of the whole machine.
    """
    if os.environ.get(ASKED, "").lower() not in ("true", "1"):
        return dict
    from mlflow.system_metrics.metrics.cpu_monitor import CPUMonitor
    from mlflow.system_metrics.metrics.disk_monitor import DiskMonitor
    from mlflow.system_metrics.metrics.gpu_monitor import GPUMonitor
    from mlflow.system_metrics.metrics.network_monitor import NetworkMonitor

    monitors = [CPUMonitor(), DiskMonitor(), NetworkMonitor()]
    with suppress(ImportError, RuntimeError):  # no GPU of NVIDIA, or no nvidia-ml-py
        monitors.append(GPUMonitor())

    def read() -> dict[str, float]:
        found: dict[str, float] = {}
        for one in monitors:
            one.collect_metrics()
            found |= one.aggregate_metrics()
            one.clear_metrics()
        return found

    read()  # from now on
    return read
