"""The client of a request, which shares the server with other clients."""

from ipaddress import IPv6Address, ip_address

from starlette.types import Scope


def client_name(scope: Scope) -> str:
    """The address of the client; for IPv6, its network of 64 bits, which providers give to one customer.

    >>> client_name({"client": ("192.0.2.7", 1234)}), client_name({"client": ("2001:db8::7", 1234)})
    ('192.0.2.7', '2001:db8::')
    """
    host = (scope.get("client") or ("",))[0]
    try:
        address = ip_address(host)
    except ValueError:
        return str(host)
    if isinstance(address, IPv6Address) and address.ipv4_mapped is None:
        return str(IPv6Address(int(address) >> 64 << 64))
    return str(host)
