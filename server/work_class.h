#ifndef ATTUNE_SERVER_WORK_CLASS_H_
#define ATTUNE_SERVER_WORK_CLASS_H_

namespace attune {

// How soon an answer is wanted. Of two classes that both have work waiting, the first gets most of
// the workers' time, and neither gets none.
enum class WorkClass {
  kInteractive,
  kBulk,  // items of streams, and requests of many texts
};

}  // namespace attune

#endif  // ATTUNE_SERVER_WORK_CLASS_H_
