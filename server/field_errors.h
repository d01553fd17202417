// The errors of many fields as one, so that a caller can mend all of them at once.
#ifndef ATTUNE_SERVER_FIELD_ERRORS_H_
#define ATTUNE_SERVER_FIELD_ERRORS_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"

namespace attune {

// Collects FieldErrors. Keeps as many as are told to a client, and counts the rest. Used by one
// thread.
class FieldErrors {
 public:
  // OK adds nothing.
  void Add(const absl::Status& error);

  // OK if none was added. Else the first, with all of them as violations and, if there are several,
  // their number in the message.
  absl::Status Combined() const;

 private:
  std::vector<absl::Status> kept_;
  int64_t count_ = 0;
};

}  // namespace attune

#endif  // ATTUNE_SERVER_FIELD_ERRORS_H_
