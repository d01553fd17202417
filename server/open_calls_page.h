#ifndef ATTUNE_SERVER_OPEN_CALLS_PAGE_H_
#define ATTUNE_SERVER_OPEN_CALLS_PAGE_H_

#include <string>

#include "server/call_monitor.h"

namespace attune {

// The calls in flight as JSON, oldest first and at most 1000 of them, {"in_flight": 3, "calls":
// [{"method": .., "age_seconds": .., "peer": .., "request_id": .., ..}]}. No input of theirs.
std::string OpenCallsPage(CallMonitor& monitor);

}  // namespace attune

#endif  // ATTUNE_SERVER_OPEN_CALLS_PAGE_H_
