"""The GPUs of this machine: torch's view of them."""

from torch.cuda import current_device as current_device
from torch.cuda import device_count as device_count
from torch.cuda import empty_cache as empty_cache
from torch.cuda import get_device_name as get_device_name
from torch.cuda import get_device_properties as get_device_properties
from torch.cuda import is_available as is_available
from torch.cuda import manual_seed as manual_seed
from torch.cuda import manual_seed_all as manual_seed_all
from torch.cuda import set_device as set_device
from torch.cuda import synchronize as synchronize
