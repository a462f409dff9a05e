#pragma once

struct sockaddr;

namespace tidemark {

/// Whether an address belongs to a host of the public internet: not this one, not of its network, not
/// of a private one, not one that stands for such a one in IPv6 (RFC 6890 and its registry).
bool is_public_address(const sockaddr& address);

} // namespace tidemark
