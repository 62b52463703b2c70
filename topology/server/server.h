// SPDX-License-Identifier: Apache-2.0
// How one server is wired inside. Every node of a cluster is the same server, so a server describes its devices and links by
// local numbers (from 0) and the network adds the node's base. The set of servers is closed: a variant of plain classes that
// all answer the same questions:
//
//   endpoints, nics           what sends and receives; what leads out (0 nics: the endpoint is its own port)
//   device_count, link_count  how many ids a node takes
//   kind, name                of a local device
//   links                     all of them in local order, with local devices at their ends
//   port_devices              the local devices that are cabled to the fabric as ports 0, 1, ...
//   path_inside               local links of the path between two endpoints of the node; lives as long as the server
//   path_out, path_in         local links between an endpoint and a port
//   inside_latency, port_latency   of these paths; the same in both directions
//   inside_tier               the slowest sort of link on that path: what a collective library takes the hop for
//   direct_links              NVLink or xGMI links that join two endpoints with no switch between them
#pragma once

#include <variant>

#include "topology/server/bare_host.h"
#include "topology/server/nvswitch_server.h"
#include "topology/server/wired_server.h"

namespace lockstep {

using Server = std::variant<BareHost, NvSwitchServer, WiredServer>;

}  // namespace lockstep
