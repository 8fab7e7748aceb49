import pytest


@pytest.mark.parametrize("kind", [{"is_backward": True}, {"is_backward": False}, {"is_half": True}], ids=str)
@pytest.mark.parametrize("size", [1, 50, 65, 128, 400, 800, 1024])
@pytest.mark.parametrize("processors", [16, 40, 132])
@pytest.mark.parametrize("memory", [64, 99, 227])
def test_a_launch_keeps_all_programs_on_the_device_at_once(processors, memory, size, kind):
    launches = pytest.importorskip("treecrf.network.nn.triton_lstm_launch", reason="Triton is not installed")
    device = launches.DeviceLimits(processors, memory * 1024)
    for batch in (1, 20, 100, 700):
        config = launches.launch_config(batch, size, device, **kind)
        if config is None:
            assert size > 128  # the weights are too large for such a device
            continue
        if config.programs(size) > 1:
            is_backward = kind.get("is_backward", False)
            memory_size = launches._memory(config.rows, config.units, size, is_backward=is_backward)
            assert config.rows >= 16 and memory_size <= device.memory
            assert 2 * config.programs(size) * config.groups <= processors
