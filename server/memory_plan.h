// The most memory that the server needs under any load, added up before it serves.
#ifndef ATTUNE_SERVER_MEMORY_PLAN_H_
#define ATTUNE_SERVER_MEMORY_PLAN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "engine/model/config.h"
#include "server/server_options.h"

namespace attune {

// An upper bound of the resident memory, in bytes, by what takes it. What the operating system
// keeps for the process, such as sockets' buffers, is not in it; nor are connections and streams on
// which nothing happens.
struct MemoryPlan {
  int64_t weights = 0;         // packed, and the tables, in the largest precision that may serve
  int64_t activations = 0;     // of every worker's largest batch
  int64_t queue = 0;           // tokens and items that wait for a worker
  int64_t tokenizing = 0;      // the tokens of requests that are being read
  int64_t calls = 0;           // messages of calls under way
  int64_t attention_maps = 0;  // being computed
  int64_t grpc_decoding = 0;   // messages that are not admitted yet
  int64_t http_decoding = 0;
  int64_t grpc_buffers = 0;
  int64_t traces = 0;       // spans that wait to be sent
  int64_t program = 0;      // libraries, vocabulary, what the allocator cannot use
  int64_t other_model = 0;  // while one takes over from another: what the old one has for itself
  // The second precision of the model, while a reduced one is compared with f32: what it takes
  // beyond that which only a serving model takes, since neither serves yet.
  int64_t comparison = 0;

  struct Term {
    const char* name;
    int64_t bytes;
  };
  // All of the above by name.
  std::vector<Term> terms() const;
  int64_t total() const;
  // Of the total, what a second model needs besides the first one's.
  int64_t of_model() const { return weights + activations + queue + tokenizing; }
  // "weights 95420416, ..., total 1234567890".
  std::string ToString() const;
};

// For a model of this shape, and beside a model that serves until this one does, of which
// `other_model` bytes are. REQUIRES: nothing is left to be chosen in `options`.
MemoryPlan PlanMemory(const ModelConfig& model, const ServerOptions& options,
                      int64_t other_model = 0);

}  // namespace attune

#endif  // ATTUNE_SERVER_MEMORY_PLAN_H_
